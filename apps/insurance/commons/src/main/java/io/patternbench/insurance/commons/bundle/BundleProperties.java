package io.patternbench.insurance.commons.bundle;

import jakarta.validation.constraints.Min;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The depth of bundles when a service starts, and how many items one may have.
 *
 * @param limit the most items of a bundle
 */
@Validated
@ConfigurationProperties("insurance.bundle")
record BundleProperties(
    BundleReads reads, BundleForward forward, @Min(1) @DefaultValue("1000") int limit) {}
