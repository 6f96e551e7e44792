package io.patternbench.resilience4j;

/** What became of an attempt, as one number: the status of an answer, or one of the names below. */
final class Outcome {
  static final int TIMEOUT = -1;
  static final int CONNECTION_ERROR = -2;
  static final int REJECTED = -3;

  private Outcome() {}

  static boolean isSuccess(int outcome) {
    return outcome >= 200 && outcome <= 399;
  }

  /** A status that HTTP does not have is no answer. */
  static int ofStatus(int status) {
    return status >= 100 && status <= 599 ? status : CONNECTION_ERROR;
  }

  /** The outcome as it stands in the stream. */
  static String json(int outcome) {
    return switch (outcome) {
      case TIMEOUT -> "\"timeout\"";
      case CONNECTION_ERROR -> "\"connection_error\"";
      case REJECTED -> "\"rejected\"";
      default -> Integer.toString(outcome);
    };
  }
}
