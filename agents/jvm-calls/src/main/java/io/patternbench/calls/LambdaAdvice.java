package io.patternbench.calls;

import net.bytebuddy.asm.Advice;

/** Woven into the bodies of lambdas: nobody's methods, whose own calls are their class's. */
@SuppressWarnings("unused")
public final class LambdaAdvice {
  private LambdaAdvice() {}

  @Advice.OnMethodEnter(suppress = Throwable.class)
  public static String enter(@Advice.Origin("#t") String entered) {
    return Calls.go(entered);
  }

  @Advice.OnMethodExit(onThrowable = Throwable.class, suppress = Throwable.class)
  public static void leave(@Advice.Enter String caller) {
    Calls.leave(caller);
  }
}
