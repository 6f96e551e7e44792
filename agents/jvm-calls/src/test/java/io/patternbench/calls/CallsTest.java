package io.patternbench.calls;

import static net.bytebuddy.matcher.ElementMatchers.none;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.instrumentation.api.instrumenter.Instrumenter;
import io.opentelemetry.instrumentation.api.instrumenter.SpanKindExtractor;
import io.opentelemetry.javaagent.extension.instrumentation.TypeTransformer;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.patternbench.calls.example.Back;
import io.patternbench.calls.example.Front;
import io.patternbench.calls.example.Item;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.matcher.ElementMatcher;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Each rule, by requests whose calls are known by heart. */
class CallsTest {
  private static final OwnClasses OWN = new OwnClasses(List.of("io.patternbench.calls.example"));
  private static final Map<String, Long> COUNTED = new HashMap<>();
  private static Instrumenter<String, Void> server;

  @BeforeAll
  static void weave() {
    ByteBuddyAgent.install();
    Weaver weaver = new Weaver();
    OWN.transform(weaver);
    new AgentBuilder.Default(new ByteBuddy().ignore(none()))
        .disableClassFormatChanges()
        .with(AgentBuilder.RedefinitionStrategy.RETRANSFORMATION)
        .with(AgentBuilder.DescriptionStrategy.Default.POOL_ONLY)
        .type(OWN.typeMatcher())
        .transform(weaver.advice)
        .installOnByteBuddyAgent();
    SdkTracerProvider tracers =
        SdkTracerProvider.builder()
            .addSpanProcessor(new CallsFromZero())
            .addSpanProcessor(new Ended())
            .build();
    OpenTelemetrySdk sdk = OpenTelemetrySdk.builder().setTracerProvider(tracers).build();
    server =
        Instrumenter.<String, Void>builder(sdk, "test", name -> name)
            .buildInstrumenter(SpanKindExtractor.alwaysServer());
  }

  private static long calls(Consumer<Front> request) {
    return calls(new Front(), request);
  }

  private static long calls(Front front, Consumer<Front> request) {
    Context context = server.start(Context.root(), "request");
    try (Scope scope = context.makeCurrent()) {
      request.accept(front);
    } finally {
      server.end(context, "request", null, null);
    }
    return COUNTED.get("request");
  }

  @Test
  void aRequestThatCallsNobodyHasNoCalls() {
    assertEquals(0, calls(Front::nothing));
  }

  @Test
  void aCallOfAnotherClassIsOneAndACallWithinAClassNone() {
    assertEquals(1, calls(Front::once));
    assertEquals(0, calls(Front::within));
  }

  @Test
  void creatingAnObjectIsNoCall() {
    assertEquals(0, calls(Front::create));
  }

  @Test
  void recursionCountsWhereItChangesTheClass() {
    assertEquals(0, calls(front -> front.countDown(5)));
    assertEquals(10, calls(front -> front.inTurn(5)));
  }

  @Test
  void aMethodThatThrowsIsOneCallAndItsCallerGoesOnAsItself() {
    assertEquals(2, calls(Front::failing));
  }

  @Test
  void methodsThatALibraryCallsCountFromTheClassThatCalledTheLibrary() {
    assertEquals(3, calls(front -> front.parts(List.of(new Item(1), new Item(2), new Item(3)))));
  }

  @Test
  void theBodyOfALambdaIsNoMethodAndPartOfTheClassThatItIsWrittenIn() {
    assertEquals(3, calls(Front::lambda)); // Back.run, and Back.answer twice
  }

  @Test
  void anAnonymousClassIsPartOfTheOneThatItIsWrittenInButItsMethodsAreMethods() {
    assertEquals(3, calls(Front::anonymous)); // Back.run, get, and Back.answer
  }

  @Test
  void whatCollectionsAndLogsCallIsNoCall() {
    assertEquals(0, calls(Front::incidental));
  }

  @Test
  void aBridgeIsNoCallOfItsOwn() {
    assertEquals(1, calls(Front::generic));
  }

  @Test
  void workInAnotherThreadCountsForTheRequestThatItsContextNames() {
    assertEquals(1, calls(front -> front.elsewhere(task -> inAnotherThread(wrapped(task)))));
    assertEquals(0, calls(front -> front.elsewhere(CallsTest::inAnotherThread)));
  }

  @Test
  void requestsAreCountedEachForItself() {
    Front front = new Front();
    assertEquals(1, calls(front, Front::once));
    assertEquals(4, calls(front, one -> one.inTurn(2)));
    assertEquals(1, calls(front, Front::once));
  }

  @Test
  void whatIsCalledWithoutARequestIsNotCountedAndHarmsNothing() {
    assertEquals(42, new Front().once());
    assertFalse(Span.current().getSpanContext().isValid());
    assertEquals(1, calls(Front::once));
  }

  @Test
  void aThreadIsInNoClassOnceItsMethodsHaveEnded() {
    assertEquals(42, new Front().once());
    assertEquals(42, new Front().failing());
    assertNull(Calls.go("org.example.First"));
    Calls.leave(null);
  }

  @Test
  void classesThatFrameworksGenerateAreNotTheApplications() {
    ElementMatcher<TypeDescription> own = OWN.typeMatcher();
    assertTrue(own.matches(TypeDescription.ForLoadedType.of(Back.class)));
    assertFalse(own.matches(TypeDescription.ForLoadedType.of(CallsTest.class)));
    for (String name : List.of("Back$$SpringCGLIB$$0", "$Proxy7", "Back$HibernateProxy$x")) {
      String whole = "io.patternbench.calls.example." + name;
      assertFalse(own.matches(new TypeDescription.Latent(whole, 1, null, List.of())), name);
    }
  }

  @Test
  void aNestedClassBelongsToTheOutermost() {
    assertEquals("org.example.Order", Calls.outermost("org.example.Order$Line$1"));
    assertEquals("org.example.$Order", Calls.outermost("org.example.$Order$Line"));
    assertEquals("Order", Calls.outermost("Order"));
  }

  @Test
  void packagesAreNamedBetweenCommas() {
    assertEquals(List.of("a.b", "c"), CallsModule.packages(" a.b, c,"));
    assertEquals(List.of(), CallsModule.packages(null));
  }

  private static Runnable wrapped(Runnable task) {
    return Context.current().wrap(task);
  }

  private static void inAnotherThread(Runnable task) {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      executor.submit(task).get(10, TimeUnit.SECONDS);
    } catch (Exception error) {
      throw new AssertionError(error);
    } finally {
      executor.shutdown();
    }
  }

  /** Keeps the count of each request that has ended, by its name. */
  private static final class Ended implements SpanProcessor {
    @Override
    public void onStart(Context parent, ReadWriteSpan span) {}

    @Override
    public boolean isStartRequired() {
      return false;
    }

    @Override
    public void onEnd(ReadableSpan span) {
      COUNTED.put(span.getName(), span.getAttribute(Calls.IN_MEMORY));
    }

    @Override
    public boolean isEndRequired() {
      return true;
    }
  }

  /** Collects advice as the agent does. */
  private static final class Weaver implements TypeTransformer {
    private AgentBuilder.Transformer.ForAdvice advice =
        new AgentBuilder.Transformer.ForAdvice().include(CallsTest.class.getClassLoader());

    @Override
    public void applyAdviceToMethod(
        ElementMatcher<? super MethodDescription> methods,
        Function<Advice.WithCustomMapping, Advice.WithCustomMapping> mapping,
        String name) {
      advice = advice.advice(new ElementMatcher.Junction.Conjunction<>(methods), name);
    }

    @Override
    public void applyTransformer(AgentBuilder.Transformer transformer) {
      throw new UnsupportedOperationException();
    }
  }
}
