package io.patternbench.insurance.commons.bundle;

import com.fasterxml.jackson.databind.ObjectMapper;
import jakarta.validation.Validator;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The bundle's settings, and what reads its items. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(BundleProperties.class)
public class BundleConfiguration {
  @Bean
  BundleSettings bundleSettings(BundleProperties properties) {
    return new BundleSettings(new BundleDepth(properties.reads(), properties.forward()));
  }

  @Bean
  ItemReader itemReader(ObjectMapper json, Validator validator, BundleProperties properties) {
    return new ItemReader(json, validator, properties.limit());
  }
}
