package io.patternbench.kit;

/** A policy has let nothing through; it carries no stack, since an open breaker throws many. */
public final class Rejected extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The only one: it says nothing but that it happened. */
  public static final Rejected CALL = new Rejected();

  private Rejected() {
    super("rejected", null, false, false);
  }
}
