package io.patternbench.insurance.customermanagement;

import io.patternbench.insurance.commons.Address;

/** The new address of a customer; customer-core checks it. */
record AddressChange(String customerId, Address address) {}
