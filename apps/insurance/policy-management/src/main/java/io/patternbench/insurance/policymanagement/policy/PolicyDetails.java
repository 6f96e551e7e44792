package io.patternbench.insurance.policymanagement.policy;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.patternbench.insurance.commons.Money;
import jakarta.validation.Valid;
import jakarta.validation.constraints.AssertTrue;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotEmpty;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Size;
import java.time.LocalDate;
import java.util.List;

/** What an employee says of a policy. */
record PolicyDetails(
    @NotBlank String customerId,
    @NotNull @Valid Period policyPeriod,
    @NotBlank @Size(max = 100) String policyType,
    @NotNull @Valid Money deductible,
    @NotNull @Valid Money policyLimit,
    @NotNull @Valid Money insurancePremium,
    @NotNull @Valid Agreement insuringAgreement) {
  record Period(@NotNull LocalDate startDate, @NotNull LocalDate endDate) {
    @AssertTrue(message = "must not end before it starts")
    @JsonIgnore
    boolean isInOrder() {
      return startDate == null || endDate == null || !endDate.isBefore(startDate);
    }
  }

  record Agreement(@NotEmpty @Size(max = 100) List<@NotNull @Valid AgreementItem> agreementItems) {}

  record AgreementItem(
      @NotBlank @Size(max = 200) String title, @NotNull @Size(max = 2000) String description) {}
}
