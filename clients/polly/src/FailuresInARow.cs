using Patternbench.Kit;
using Polly;
using Polly.CircuitBreaker;
using Polly.Utilities;

namespace Patternbench.PollyClient;

/// <summary>
/// The breaker of the library's older API, which the package <c>Polly</c> has next to the new one: it opens after a
/// number of failures in a row, which is a share of 100 % of the last calls.
/// </summary>
internal static class FailuresInARow
{
    /// <summary>Whether a breaker looks at the last calls; the new API looks at those of a time only.</summary>
    internal static bool IsMeantBy(CircuitBreaker breaker) => breaker.Window.Calls is not null;

    internal static void Refuse(CircuitBreaker breaker, Problems problems)
    {
        var calls = breaker.Window.Calls ?? 0;
        problems.AtMost("window.calls", calls, int.MaxValue, "Polly counts to no more");
        if (breaker.FailureRate < 100)
        {
            var why = "Polly's breaker of the last calls counts failures in a row, and has no other share";
            problems.Refuse("failure_rate", breaker.FailureRate, why, "100, or a window.time");
        }

        if (breaker.MinimumCalls != calls)
        {
            var why = "Polly opens after as many failures in a row as its window has calls";
            problems.Refuse("minimum_calls", breaker.MinimumCalls, why, $"{calls}, the calls of the window");
        }
    }

    internal static Guard Guard(CircuitBreaker breaker, TimeProvider time)
    {
        // The older API has one clock for all of a process: the time of day, unless it is set.
        SystemClock.UtcNow = () => time.GetUtcNow().UtcDateTime;
        SystemClock.DateTimeOffsetUtcNow = time.GetUtcNow;
        var policy = Of(breaker);
        return (guarded, ended) => ThroughAsync(policy, guarded, ended);
    }

    /// <summary>An exception is that of a call whose time a policy further out has ended, which is a failure.</summary>
    private static AsyncCircuitBreakerPolicy<int> Of(CircuitBreaker breaker) =>
        Policy<int>
            .HandleResult(outcome => !Outcomes.IsSuccess(outcome))
            .Or<OperationCanceledException>()
            .CircuitBreakerAsync(
                handledEventsAllowedBeforeBreaking: (int)breaker.Window.Calls!.Value,
                durationOfBreak: TimeSpan.FromMicroseconds(breaker.OpenForUs),
                onBreak: static (_, _) => { },
                onReset: static () => { },
                onHalfOpen: static () => { });

    private static async ValueTask<int> ThroughAsync(
        AsyncCircuitBreakerPolicy<int> policy, Call guarded, CancellationToken ended)
    {
        try
        {
            return await policy.ExecuteAsync(token => guarded(token).AsTask(), ended).ConfigureAwait(false);
        }
        catch (BrokenCircuitException)
        {
            return Outcomes.Rejected;
        }
    }
}
