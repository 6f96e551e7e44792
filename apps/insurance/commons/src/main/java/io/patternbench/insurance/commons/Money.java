package io.patternbench.insurance.commons;

import jakarta.validation.constraints.Digits;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.PositiveOrZero;
import java.math.BigDecimal;

/** An amount in a currency, which is named by its three letters of ISO 4217. */
public record Money(
    @NotNull @PositiveOrZero @Digits(integer = 12, fraction = 2) BigDecimal amount,
    @NotNull @Pattern(regexp = "[A-Z]{3}") String currency) {}
