namespace Patternbench.Kit;

/// <summary>
/// Runs each strategy once against this client itself before it says that it listens: the first calls of a fresh
/// process load and compile code, which would be counted as response time of whichever scenario comes first.
/// </summary>
internal static class WarmUp
{
    private const long Calls = 300;
    private const long AtMostUs = 2_000_000;

    private static readonly IPolicy[] Policies =
    [
        new Retry(2, new Backoff(Fixed: new Fixed(0)), Jitter.None),
        new CircuitBreaker(100, null, new Window(TimeUs: 1_000_000), 2, 1_000, 1, "client"),
        new CircuitBreaker(100, null, new Window(Calls: 2), 2, 1_000, 1, "client"),
        new TimeoutPolicy(AtMostUs),
    ];

    internal static async Task AgainstAsync(string address, IAdapter adapter)
    {
        var known = Policies.Where(policy => Has(adapter, policy));
        IEnumerable<Strategy> strategies = [new("baseline", []), .. known.Select(one => new Strategy(one.Kind, [one]))];
        foreach (var strategy in strategies)
        {
            await RunAsync(RoundOf(address, "/client", AtMostUs, strategy), adapter).ConfigureAwait(false);
            // A call that is not found fails, and retries and breakers have their say.
            await RunAsync(RoundOf(address, "/nothing-here", AtMostUs / 20, strategy), adapter).ConfigureAwait(false);
        }
    }

    private static bool Has(IAdapter adapter, IPolicy policy)
    {
        var problems = new Problems(adapter.Description.Library);
        adapter.Refuse(new Entry(policy, [], 1), problems);
        return adapter.Description.Policies.Contains(policy.Kind) && problems.All.Count == 0;
    }

    private static async Task RunAsync(Round round, IAdapter adapter)
    {
        var running = new RunningRound(round, adapter, CancellationToken.None);
        await using (running.ConfigureAwait(false))
        {
            await running.Ended.ConfigureAwait(false);
            Rows.Lines(running.Rows.Take());
        }
    }

    private static Round RoundOf(string address, string path, long timeLimitUs, Strategy strategy)
    {
        var request = new Request("GET", path, new Dictionary<string, string>(), null, AtMostUs);
        return new Round(
            Round.Version, $"http://{address}", request, 1, 0, Calls, Calls, 1_000, timeLimitUs, 0, strategy);
    }
}
