package io.patternbench.calls;

import static net.bytebuddy.matcher.ElementMatchers.isAbstract;
import static net.bytebuddy.matcher.ElementMatchers.isBridge;
import static net.bytebuddy.matcher.ElementMatchers.isEquals;
import static net.bytebuddy.matcher.ElementMatchers.isHashCode;
import static net.bytebuddy.matcher.ElementMatchers.isMethod;
import static net.bytebuddy.matcher.ElementMatchers.isNative;
import static net.bytebuddy.matcher.ElementMatchers.isSynthetic;
import static net.bytebuddy.matcher.ElementMatchers.isToString;
import static net.bytebuddy.matcher.ElementMatchers.nameContains;
import static net.bytebuddy.matcher.ElementMatchers.nameStartsWith;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.not;

import io.opentelemetry.javaagent.extension.instrumentation.TypeInstrumentation;
import io.opentelemetry.javaagent.extension.instrumentation.TypeTransformer;
import java.util.List;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.matcher.ElementMatcher;

/** The rule: which classes are the application's own, and which of their methods are entered. */
record OwnClasses(List<String> packages) implements TypeInstrumentation {
  /**
   * Parts of names that frameworks give to the classes that they generate: CGLIB, JDK, Hibernate.
   */
  private static final List<String> GENERATED =
      List.of("$$", "$Proxy", "$HibernateProxy", "$ByteBuddy$", "$MockitoMock$");

  @Override
  public ElementMatcher<TypeDescription> typeMatcher() {
    ElementMatcher.Junction<TypeDescription> own = none();
    for (String name : packages) {
      own = own.or(nameStartsWith(name + "."));
    }
    for (String part : GENERATED) {
      own = own.and(not(nameContains(part)));
    }
    return own.and(not(isSynthetic()));
  }

  @Override
  public void transform(TypeTransformer transformer) {
    ElementMatcher.Junction<MethodDescription> body =
        isMethod().and(not(isAbstract())).and(not(isNative()));
    // Collections and logs call these whenever they like.
    ElementMatcher.Junction<MethodDescription> incidental =
        isEquals().or(isHashCode()).or(isToString());
    String entered = getClass().getPackageName() + ".MethodAdvice";
    String lambda = getClass().getPackageName() + ".LambdaAdvice";
    transformer.applyAdviceToMethod(body.and(not(isSynthetic())).and(not(incidental)), entered);
    transformer.applyAdviceToMethod(body.and(isSynthetic()).and(not(isBridge())), lambda);
  }
}
