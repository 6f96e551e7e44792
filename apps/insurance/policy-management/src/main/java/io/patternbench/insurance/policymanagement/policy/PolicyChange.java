package io.patternbench.insurance.policymanagement.policy;

/** What a policy is to be from now on. */
record PolicyChange(String policyId, PolicyDetails details) {}
