package io.patternbench.kit;

/** What became of an attempt, as one number: the status of an answer, or one of the names below. */
public final class Outcome {
  public static final int TIMEOUT = -1;
  public static final int CONNECTION_ERROR = -2;
  static final int REJECTED = -3;

  private Outcome() {}

  /** A call is successful when its last attempt was answered with one of these. */
  public static boolean isSuccess(int outcome) {
    return outcome >= 200 && outcome <= 399;
  }

  /** The outcome of a status. One that HTTP does not have counts as a connection error. */
  static int ofStatus(int status) {
    return status >= 100 && status <= 599 ? status : CONNECTION_ERROR;
  }

  /** Whether a failure that a retry names, as {@code 503}, {@code 500-599} or a name, is meant. */
  static boolean isIn(int outcome, String failure) {
    if (!Character.isDigit(failure.charAt(0))) {
      return name(outcome).equals(failure);
    }
    String[] ends = failure.split("-", 2);
    return outcome >= Integer.parseInt(ends[0])
        && outcome <= Integer.parseInt(ends[ends.length - 1]);
  }

  private static String name(int outcome) {
    return switch (outcome) {
      case TIMEOUT -> "timeout";
      case CONNECTION_ERROR -> "connection_error";
      case REJECTED -> "rejected";
      default -> Integer.toString(outcome);
    };
  }

  /** The outcome as it stands in the stream. */
  static String json(int outcome) {
    return outcome < 0 ? '"' + name(outcome) + '"' : name(outcome);
  }
}
