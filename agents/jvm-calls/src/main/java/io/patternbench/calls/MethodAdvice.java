package io.patternbench.calls;

import net.bytebuddy.asm.Advice;

/** Woven into each method of the application's own classes. */
@SuppressWarnings("unused")
public final class MethodAdvice {
  private MethodAdvice() {}

  @Advice.OnMethodEnter(suppress = Throwable.class)
  public static String enter(@Advice.Origin("#t") String entered) {
    return Calls.enter(entered);
  }

  @Advice.OnMethodExit(onThrowable = Throwable.class, suppress = Throwable.class)
  public static void leave(@Advice.Enter String caller) {
    Calls.leave(caller);
  }
}
