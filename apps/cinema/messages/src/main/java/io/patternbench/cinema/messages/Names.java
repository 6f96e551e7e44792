package io.patternbench.cinema.messages;

import io.patternbench.cinema.commons.Cinema;

/** The exchange, the queues and the keys, as Banerjee (2022) prints them. */
public final class Names {
  public static final String EXCHANGE = "cinema";
  public static final String RESPONSE_QUEUE = "responseQueue";

  /** Where messages come to lie that nobody can take in. */
  public static final String UNREADABLE = "cinema.unreadable";

  public static final String TO_ALL = "request.to.cinema";
  public static final String TO_BROKER = "response.from.cinema";

  private Names() {}

  public static String requestQueue(String cinema) {
    return "requestQueue-" + Cinema.service(cinema);
  }

  public static String to(String cinema) {
    return TO_ALL + "." + cinema;
  }
}
