using System.Threading.RateLimiting;
using Patternbench.Kit;
using Polly;
using Polly.CircuitBreaker;
using Polly.RateLimiting;
using Polly.Retry;
using Polly.Timeout;
using TimeoutPolicy = Patternbench.Kit.TimeoutPolicy;

namespace Patternbench.PollyClient;

/// <summary>A policy as a resilience pipeline of Polly, with every option of the library set.</summary>
internal static class LibraryConfig
{
    /// <summary>The share by which Polly spreads a delay to either side.</summary>
    internal const double Spread = 0.25;

    /// <summary>The shortest times that Polly's options take; a generator gives any.</summary>
    private static readonly TimeSpan LeastBreak = TimeSpan.FromMilliseconds(500);

    private static readonly TimeSpan LeastTimeout = TimeSpan.FromMilliseconds(10);

    /// <summary>Longer than any round, and not longer than a timer can be.</summary>
    private const double LongestUs = 3e12;

    internal static ResiliencePipeline<int> PipelineOf(IPolicy policy, TimeProvider time, Func<double> random)
    {
        var builder = new ResiliencePipelineBuilder<int>
        {
            Name = policy.Kind,
            InstanceName = null,
            ContextPool = null,
            TimeProvider = time,
            TelemetryListener = null,
        };
        return policy switch
        {
            Retry retry => builder.AddRetry(Of(retry, random)).Build(),
            CircuitBreaker breaker => builder.AddCircuitBreaker(Of(breaker)).Build(),
            Bulkhead bulkhead => builder.AddRateLimiter(Of(bulkhead)).Build(),
            TimeoutPolicy timeout => builder.AddTimeout(Of(timeout)).Build(),
            _ => throw new ArgumentException($"a policy that the description does not have: {policy.Kind}"),
        };
    }

    /// <summary>Polly counts retries, the contract the first attempt too. An exception is a round that is over.</summary>
    internal static RetryStrategyOptions<int> Of(Retry retry, Func<double> random)
    {
        var (type, delay, longest) = Own(retry.Backoff) ?? (DelayBackoffType.Constant, TimeSpan.Zero, null);
        return new RetryStrategyOptions<int>
        {
            Name = retry.Kind,
            MaxRetryAttempts = retry.MaxAttempts - 1,
            BackoffType = type,
            Delay = delay,
            MaxDelay = longest,
            UseJitter = retry.Jitter.Kind == "share",
            ShouldHandle = it => new(it.Outcome.Exception is null && retry.IsRetried(it.Outcome.Result)),
            DelayGenerator = Own(retry.Backoff) is null ? it => new(Computed(retry.Backoff, it.AttemptNumber)) : null,
            OnRetry = null,
            Randomizer = random,
        };
    }

    /// <summary>The library's own back-off; null where it has none, and the delay is computed, as it lets us.</summary>
    private static (DelayBackoffType Type, TimeSpan Delay, TimeSpan? Longest)? Own(Backoff backoff) => backoff switch
    {
        { Fixed: { } it } => (DelayBackoffType.Constant, Micros(it.DelayUs), null),
        { Linear: { } it } when it.IncrementUs == it.InitialUs =>
            (DelayBackoffType.Linear, Micros(it.InitialUs), Micros(it.MaxUs)),
        { Exponential: { Multiplier: 2 } it } =>
            (DelayBackoffType.Exponential, Micros(it.InitialUs), Micros(it.MaxUs)),
        _ => null,
    };

    /// <summary>Polly counts retries from 0.</summary>
    private static TimeSpan? Computed(Backoff backoff, int retry) =>
        TimeSpan.FromMicroseconds(Math.Min(backoff.DelayUs(retry + 1), LongestUs));

    /// <summary>An exception is that of a call whose time a policy further out has ended, which is a failure.</summary>
    internal static CircuitBreakerStrategyOptions<int> Of(CircuitBreaker breaker)
    {
        var open = Micros(breaker.OpenForUs);
        return new CircuitBreakerStrategyOptions<int>
        {
            Name = breaker.Kind,
            FailureRatio = breaker.FailureRate / 100,
            MinimumThroughput = (int)breaker.MinimumCalls,
            SamplingDuration = Micros(breaker.Window.TimeUs) ?? TimeSpan.Zero,
            BreakDuration = Longer(open, LeastBreak),
            BreakDurationGenerator = _ => new(open),
            ShouldHandle = it => new(it.Outcome.Exception is not null || !Outcomes.IsSuccess(it.Outcome.Result)),
            OnClosed = null,
            OnOpened = null,
            OnHalfOpened = null,
            ManualControl = null,
            StateProvider = null,
        };
    }

    internal static RateLimiterStrategyOptions Of(Bulkhead bulkhead) => new()
    {
        Name = bulkhead.Kind,
        RateLimiter = null,
        DefaultRateLimiterOptions = new ConcurrencyLimiterOptions
        {
            PermitLimit = (int)bulkhead.MaxConcurrent,
            QueueLimit = (int)bulkhead.MaxWaiting,
            QueueProcessingOrder = QueueProcessingOrder.OldestFirst,
        },
        OnRejected = null,
    };

    internal static TimeoutStrategyOptions Of(TimeoutPolicy policy)
    {
        var after = Micros(policy.AfterUs);
        return new TimeoutStrategyOptions
        {
            Name = policy.Kind,
            Timeout = Longer(after, LeastTimeout),
            TimeoutGenerator = _ => new(after),
            OnTimeout = null,
        };
    }

    private static TimeSpan Longer(TimeSpan one, TimeSpan other) => one > other ? one : other;

    private static TimeSpan Micros(long us) => TimeSpan.FromTicks(us * TimeSpan.TicksPerMicrosecond);

    private static TimeSpan? Micros(long? us) => us is { } some ? Micros(some) : null;
}
