package io.patternbench.insurance.customermanagement;

import java.time.LocalDate;

/** A customer as customer-core answers it. */
record Customer(
    String customerId,
    String firstname,
    String lastname,
    LocalDate birthday,
    String streetAddress,
    String postalCode,
    String city,
    String email,
    String phoneNumber) {}
