package io.patternbench.shop.commons.wire;

/**
 * Somebody who can sign in.
 *
 * @param password its hash (bcrypt)
 */
public record User(long id, String userName, String password, String realName, String email) {}
