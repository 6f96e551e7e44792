package io.patternbench.cinema.cinema.message;

import io.patternbench.cinema.messages.Messages;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Profile;

/** What a cinema needs that is asked by messages. */
@Configuration(proxyBeanMethods = false)
@Profile("by-message")
@Import(Messages.class)
class ByMessage {}
