package io.patternbench.insurance.customercore;

import io.patternbench.insurance.commons.Address;
import java.time.LocalDate;

/** Somebody who is insured, or wants to be. */
record Customer(
    String customerId,
    String firstname,
    String lastname,
    LocalDate birthday,
    String streetAddress,
    String postalCode,
    String city,
    String email,
    String phoneNumber) {
  Customer movedTo(Address address) {
    return new Customer(
        customerId,
        firstname,
        lastname,
        birthday,
        address.streetAddress(),
        address.postalCode(),
        address.city(),
        email,
        phoneNumber);
  }

  Address address() {
    return new Address(streetAddress, postalCode, city);
  }
}
