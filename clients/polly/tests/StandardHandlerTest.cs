using System.Text.Json;
using Microsoft.Extensions.Http.Resilience;
using Patternbench.Kit.Tests;
using Polly;
using Xunit;

namespace Patternbench.PollyClient.Tests;

/// <summary>The defaults of .NET's standard handler, from the package itself, against what our studies write out.</summary>
public sealed class StandardHandlerTest
{
    private readonly HttpStandardResilienceOptions _options = new();

    private static JsonElement Policy(int index, string kind) =>
        Vectors.Of("standard_handler")[0].GetProperty("stack")[index].GetProperty(kind);

    private static long Us(TimeSpan time) => (long)time.TotalMicroseconds;

    private static long Number(JsonElement json, string name) => json.GetProperty(name).GetInt64();

    [Fact]
    public void TheLimiterIsABulkheadWithoutWaitingPlaces()
    {
        var (limiter, bulkhead) = (_options.RateLimiter, Policy(0, "bulkhead"));
        Assert.Null(limiter.RateLimiter);
        Assert.Equal(limiter.DefaultRateLimiterOptions.PermitLimit, Number(bulkhead, "max_concurrent"));
        Assert.Equal(limiter.DefaultRateLimiterOptions.QueueLimit, Number(bulkhead, "max_waiting"));
    }

    [Fact]
    public void TheTimeoutsAreThoseOfTheCallAndOfEachAttempt()
    {
        Assert.Equal(Us(_options.TotalRequestTimeout.Timeout), Number(Policy(1, "timeout"), "after_us"));
        Assert.Equal(Us(_options.AttemptTimeout.Timeout), Number(Policy(4, "timeout"), "after_us"));
    }

    [Fact]
    public void TheRetryDoublesItsDelay()
    {
        var retry = Policy(2, "retry");
        var delays = retry.GetProperty("backoff").GetProperty("exponential");
        Assert.Equal((DelayBackoffType.Exponential, null), (_options.Retry.BackoffType, _options.Retry.MaxDelay));
        Assert.Equal(_options.Retry.MaxRetryAttempts + 1, Number(retry, "max_attempts"));
        Assert.Equal(Us(_options.Retry.Delay), Number(delays, "initial_us"));
        Assert.Equal((2, JsonValueKind.Null), (Number(delays, "multiplier"), delays.GetProperty("max_us").ValueKind));
    }

    /// <summary>Decorrelated jitter and Retry-After are what our studies leave out, and say so.</summary>
    [Fact]
    public void TheRetryHasJitterAndHeedsRetryAfter() =>
        Assert.True(_options.Retry.UseJitter && _options.Retry.ShouldRetryAfterHeader);

    [Fact]
    public void TheBreakerOpensAtATenthOfAHundredCalls()
    {
        var (breaker, due) = (_options.CircuitBreaker, Policy(3, "circuit_breaker"));
        Assert.Equal(breaker.FailureRatio * 100, due.GetProperty("failure_rate").GetDouble());
        Assert.Equal(breaker.MinimumThroughput, Number(due, "minimum_calls"));
        Assert.Equal(Us(breaker.SamplingDuration), Number(due.GetProperty("window"), "time_us"));
        Assert.Equal(Us(breaker.BreakDuration), Number(due, "open_for_us"));
        Assert.Null(breaker.BreakDurationGenerator);
    }
}
