using Patternbench.Kit;

namespace Patternbench.PollyClient;

/// <summary>Says what of a policy Polly cannot do exactly.</summary>
internal static class Expressible
{
    /// <summary>
    /// The bucket's tick stays where it was while the bucket is full, so that the time of standing idle counts twice.
    /// </summary>
    internal const string NoRateLimit =
        "Polly takes its limiters from .NET, and none keeps the interval between two calls: its token bucket lets two"
            + " out at once after a pause, or fills at the ticks of a timer; its windows let two out around a border";

    private const long DayUs = 86_400_000_000;
    private const long LeastSamplingUs = 500_000;
    private const string Day = "Polly takes a day at most";
    private const string Counts = "Polly counts to no more";

    internal static void Refuse(Entry entry, Problems problems)
    {
        switch (entry.Policy)
        {
            case Retry retry:
                RefuseRetry(retry, problems);
                break;
            case CircuitBreaker breaker:
                RefuseBreaker(breaker, problems);
                RefuseAroundRejections(entry, problems);
                break;
            case Bulkhead bulkhead:
                RefuseBulkhead(bulkhead, problems);
                break;
            case TimeoutPolicy timeout:
                RefuseTime("after_us", timeout.AfterUs, problems);
                break;
        }
    }

    private static void RefuseRetry(Retry retry, Problems problems)
    {
        problems.AtLeast("max_attempts", retry.MaxAttempts, 2, "Polly's retry tries again once at least");
        problems.RetryAfter(retry);
        var (fixedDelay, linear, exponential) = retry.Backoff;
        RefuseTime("backoff.fixed.delay_us", fixedDelay?.DelayUs, problems);
        RefuseTime("backoff.linear.initial_us", linear?.InitialUs, problems);
        RefuseTime("backoff.linear.increment_us", linear?.IncrementUs, problems);
        RefuseTime("backoff.linear.max_us", linear?.MaxUs, problems);
        RefuseTime("backoff.exponential.initial_us", exponential?.InitialUs, problems);
        RefuseTime("backoff.exponential.max_us", exponential?.MaxUs, problems);
        RefuseJitter(retry, problems);
    }

    /// <summary>
    /// Polly spreads a delay by a quarter, and cuts it at the longest one afterwards; an exponential one it draws
    /// anew from the one before.
    /// </summary>
    private static void RefuseJitter(Retry retry, Problems problems)
    {
        if (retry.Jitter.Kind == "none")
        {
            return;
        }

        object jitter = retry.Jitter.Kind == "share" ? retry.Jitter.Share : retry.Jitter.Kind;
        if (retry.Jitter != new Jitter("share", LibraryConfig.Spread) || !IsSpread(retry.Backoff))
        {
            problems.Refuse(
                "jitter",
                jitter,
                "Polly spreads fixed delays, and linear ones that grow by the first, by a quarter to either side, and has"
                    + " no other jitter of the contract",
                "none, or 0.25 for such a delay without a longest one");
        }
    }

    private static bool IsSpread(Backoff backoff) =>
        backoff.Fixed is not null
        || backoff.Linear is { MaxUs: null } linear && linear.InitialUs == linear.IncrementUs;

    private static void RefuseBreaker(CircuitBreaker breaker, Problems problems)
    {
        problems.SlowCalls(breaker);
        problems.AtMost(
            "half_open_calls", breaker.HalfOpenCalls, 1, "a half-open breaker of Polly decides after one call");
        problems.AtMost("open_for_us", breaker.OpenForUs, DayUs, Day);
        if (FailuresInARow.IsMeantBy(breaker))
        {
            FailuresInARow.Refuse(breaker, problems);
            return;
        }

        problems.AtLeast("window.time_us", breaker.Window.TimeUs, LeastSamplingUs, "Polly takes half a second at least");
        problems.AtMost("window.time_us", breaker.Window.TimeUs, DayUs, Day);
        problems.AtLeast("minimum_calls", breaker.MinimumCalls, 2, "Polly takes two calls at least");
        problems.AtMost("minimum_calls", breaker.MinimumCalls, int.MaxValue, Counts);
        problems.ShareThatASuccessCouldReach(breaker);
    }

    /// <summary>Keeps a breaker from what may reject a call.</summary>
    private static void RefuseAroundRejections(Entry entry, Problems problems)
    {
        if (entry.Guarded.Any(policy => policy is CircuitBreaker or Bulkhead))
        {
            problems.Refuse(
                "",
                null,
                "Polly's breaker counts a call that was rejected further in as a success or a failure, where the"
                    + " contract's counts it as nothing",
                "a circuit_breaker that guards nothing but retries and timeouts");
        }
    }

    private static void RefuseBulkhead(Bulkhead bulkhead, Problems problems)
    {
        problems.AtMost("max_concurrent", bulkhead.MaxConcurrent, int.MaxValue, Counts);
        problems.AtMost("max_waiting", bulkhead.MaxWaiting, int.MaxValue, Counts);
        if (bulkhead.MaxWaitUs is { } longest && bulkhead.MaxWaiting > 0)
        {
            var why = "Polly bounds how many calls wait, and not how long";
            problems.Refuse("max_wait_us", longest, why, "nothing, or max_waiting 0");
        }
    }

    /// <summary>A time that Polly's timers would cut, or that is longer than its options take; null is fine.</summary>
    private static void RefuseTime(string path, long? timeUs, Problems problems)
    {
        problems.Milliseconds(path, timeUs);
        problems.AtMost(path, timeUs, DayUs, Day);
    }
}
