using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace Patternbench.Kit.Tests;

/// <summary>A clock that is set by hand. Its timers are over at once, and move it on by the time they take.</summary>
public sealed class SetTime : TimeProvider
{
    private long _nowTicks;

    /// <summary>How long each timer was to take.</summary>
    public List<TimeSpan> Waits { get; } = [];

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch.AddTicks(_nowTicks);

    public override long GetTimestamp() => _nowTicks;

    public void SetUs(long us) => _nowTicks = us * TimeSpan.TicksPerMicrosecond;

    public void PassUs(long us) => _nowTicks += us * TimeSpan.TicksPerMicrosecond;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        Waits.Add(dueTime);
        _nowTicks += dueTime.Ticks;
        callback(state);
        return new Over();
    }

    private sealed class Over : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period) => false;

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}

/// <summary>The contract's shared vectors; for the tests of every adapter.</summary>
public static class Vectors
{
    public static IReadOnlyList<JsonElement> Of(string name, [CallerFilePath] string here = "")
    {
        var root = Directory.GetParent(here)!;
        while (!Directory.Exists(Path.Combine(root.FullName, "contracts")))
        {
            root = root.Parent ?? throw new DirectoryNotFoundException("no folder above has the contracts");
        }

        var file = Path.Combine(root.FullName, "contracts", "client", "vectors", $"{name}.json");
        return JsonDocument.Parse(File.ReadAllText(file)).RootElement.GetProperty("cases").EnumerateArray().ToList();
    }
}

/// <summary>Rounds as the contract writes them.</summary>
public static class Rounds
{
    public const string Fixed = """{"max_attempts": 3, "backoff": {"fixed": {"delay_us": 10000}}, "jitter": "none"}""";

    /// <summary>A round with a strategy, which is JSON, and fields changed.</summary>
    public static string Of(string strategy, params (string Name, JsonNode? Value)[] changes)
    {
        var round = JsonNode.Parse(
            $$"""
            {"contract": 1, "target": "http://127.0.0.1:1", "users": 2, "think_time_us": 0, "successes": 1,
             "request": {"method": "GET", "path": "/", "headers": {}, "body": null, "timeout_us": 1000000},
             "max_attempts": null, "rejected_pause_us": 1000, "time_limit_us": 1000000, "seed": 1,
             "strategy": {{strategy}}}
            """)!.AsObject();
        foreach (var (name, value) in changes)
        {
            round[name] = value;
        }

        return round.ToJsonString();
    }

    public static string Breaker(string scope) =>
        $$"""
        {"circuit_breaker": {"failure_rate": 100, "slow_call": null, "window": {"calls": 2}, "minimum_calls": 2,
         "open_for_us": 20000, "half_open_calls": 1, "scope": "{{scope}}"} }
        """;

    /// <summary>The paths at which an adapter refuses a round.</summary>
    public static IReadOnlyList<string> Refused(IAdapter adapter, string round) =>
        RoundReader.Read(Encoding.UTF8.GetBytes(round), adapter).Problems.Select(problem => problem.Path).ToList();
}

/// <summary>Policies without a library: a retry that never waits, and a breaker that lets two calls in.</summary>
internal sealed class PlainAdapter : IAdapter
{
    public Description Description { get; } = new(
        "plain",
        "none",
        "0",
        ["baseline", "retry", "circuit_breaker", "stack"],
        ["timeout", "retry", "circuit_breaker"]);

    public void Refuse(Entry entry, Problems problems)
    {
        if (entry.Policy is Retry retry)
        {
            problems.RetryAfter(retry);
        }
    }

    public Guard Guard(IPolicy policy, TimeProvider time, Func<double> random)
    {
        var calls = 0;
        return policy switch
        {
            Retry retry => (guarded, ended) => RetriedAsync(retry, guarded, ended),
            TimeoutPolicy timeout => (guarded, ended) => EndedAsync(timeout, guarded, ended),
            _ => (guarded, ended) =>
                Interlocked.Increment(ref calls) > 2 ? new ValueTask<int>(Outcomes.Rejected) : guarded(ended),
        };
    }

    private static async ValueTask<int> RetriedAsync(Retry retry, Call guarded, CancellationToken ended)
    {
        var outcome = await guarded(ended);
        for (var more = 1; more < retry.MaxAttempts && retry.IsRetried(outcome); more++)
        {
            outcome = await guarded(ended);
        }

        return outcome;
    }

    private static async ValueTask<int> EndedAsync(TimeoutPolicy timeout, Call guarded, CancellationToken ended)
    {
        using var late = CancellationTokenSource.CreateLinkedTokenSource(ended);
        late.CancelAfter(TimeSpan.FromMicroseconds(timeout.AfterUs));
        return await guarded(late.Token);
    }
}
