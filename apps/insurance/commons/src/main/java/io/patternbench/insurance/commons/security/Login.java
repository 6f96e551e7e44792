package io.patternbench.insurance.commons.security;

/**
 * Somebody who can sign in.
 *
 * @param ownerId the customer or employee
 */
public record Login(String ownerId, String passwordHash) {}
