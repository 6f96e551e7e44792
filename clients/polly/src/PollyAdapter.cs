using Patternbench.Kit;
using Polly;
using Polly.CircuitBreaker;
using Polly.RateLimiting;
using Polly.Timeout;

namespace Patternbench.PollyClient;

/// <summary>Polly's retry, circuit breaker, concurrency limiter and timeout, each a resilience pipeline of its own.</summary>
internal sealed class PollyAdapter : IAdapter
{
    public Description Description { get; } = new(
        "polly",
        "Polly",
        Description.VersionOf(typeof(ResiliencePipeline)),
        ["baseline", "retry", "circuit_breaker", "stack"],
        ["retry", "circuit_breaker", "bulkhead", "timeout"],
        new Dictionary<string, string> { ["rate_limit"] = Expressible.NoRateLimit });

    public void Refuse(Entry entry, Problems problems) => Expressible.Refuse(entry, problems);

    public Guard Guard(IPolicy policy, TimeProvider time, Func<double> random)
    {
        if (policy is CircuitBreaker breaker && FailuresInARow.IsMeantBy(breaker))
        {
            return FailuresInARow.Guard(breaker, time);
        }

        var pipeline = LibraryConfig.PipelineOf(policy, time, random);
        return (guarded, ended) => ThroughAsync(pipeline, guarded, ended);
    }

    private static async ValueTask<int> ThroughAsync(
        ResiliencePipeline<int> pipeline, Call guarded, CancellationToken ended)
    {
        var context = ResilienceContextPool.Shared.Get(ended);
        try
        {
            var outcome = await pipeline.ExecuteOutcomeAsync<int, Call>(GuardedAsync, context, guarded)
                .ConfigureAwait(false);
            return Translated(outcome);
        }
        finally
        {
            ResilienceContextPool.Shared.Return(context);
        }
    }

    /// <summary>An exception goes through the library as an outcome, which is not thrown again at every policy.</summary>
    private static async ValueTask<Outcome<int>> GuardedAsync(ResilienceContext context, Call guarded)
    {
        try
        {
            return Outcome.FromResult(await guarded(context.CancellationToken).ConfigureAwait(false));
        }
        catch (OperationCanceledException e)
        {
            return Outcome.FromException<int>(e);
        }
    }

    /// <summary>What the library's own exceptions mean to the contract.</summary>
    private static int Translated(Outcome<int> outcome)
    {
        switch (outcome.Exception)
        {
            case BrokenCircuitException or RateLimiterRejectedException:
                return Outcomes.Rejected;
            case TimeoutRejectedException:
                return Outcomes.Timeout;
            default:
                outcome.ThrowIfException();
                return outcome.Result;
        }
    }
}
