using System.Text.Json;
using System.Threading.RateLimiting;
using Patternbench.Kit;
using Patternbench.Kit.Tests;
using Polly.CircuitBreaker;
using Polly.RateLimiting;
using Polly.Retry;
using Polly.Timeout;
using Xunit;
using TimeoutPolicy = Patternbench.Kit.TimeoutPolicy;

namespace Patternbench.PollyClient.Tests;

public sealed class PollyAdapterTest
{
    private static readonly Backoff AtOnce = new(new Fixed(0));

    private readonly SetTime _time = new();

    private Guard GuardOf(IPolicy policy, Func<double>? random = null) =>
        new PollyAdapter().Guard(policy, _time, random ?? (() => 0.5));

    private static Call Answers(int outcome, Action? made = null) => _ =>
    {
        made?.Invoke();
        return new ValueTask<int>(outcome);
    };

    /// <summary>Each kind of options of the library, with the names of those that can be set.</summary>
    public static TheoryData<string, string[]> Options() => new()
    {
        { nameof(RetryStrategyOptions<int>), NamesOf(typeof(RetryStrategyOptions<int>)) },
        { nameof(CircuitBreakerStrategyOptions<int>), NamesOf(typeof(CircuitBreakerStrategyOptions<int>)) },
        { nameof(RateLimiterStrategyOptions), NamesOf(typeof(RateLimiterStrategyOptions)) },
        { nameof(TimeoutStrategyOptions), NamesOf(typeof(TimeoutStrategyOptions)) },
        { nameof(ConcurrencyLimiterOptions), NamesOf(typeof(ConcurrencyLimiterOptions)) },
    };

    private static string[] NamesOf(Type options) =>
        options.GetProperties().Where(property => property.CanWrite).Select(property => property.Name).ToArray();

    [Theory]
    [MemberData(nameof(Options))]
    public void EveryOptionOfTheLibraryIsSet(string options, string[] names)
    {
        var set = MethodThatMakes(options);
        Assert.NotEmpty(names);
        Assert.All(names, name => Assert.Contains($" {name} = ", set));
    }

    /// <summary>The text of the method of LibraryConfig that makes such options, from their name to its end.</summary>
    private static string MethodThatMakes(string options)
    {
        var source = File.ReadAllText(SourceOf("LibraryConfig.cs"));
        var methods = source.IndexOf("static ResiliencePipeline", StringComparison.Ordinal);
        var begin = source.IndexOf(options, methods, StringComparison.Ordinal);
        return source[begin..source.IndexOf("\n    }", begin, StringComparison.Ordinal)];
    }

    private static string SourceOf(string name, [System.Runtime.CompilerServices.CallerFilePath] string here = "") =>
        Path.Combine(Path.GetDirectoryName(here)!, "..", "src", name);

    public static TheoryData<string> Backoffs() => NamesOf("backoff");

    public static TheoryData<string> Breakers() => NamesOf("breaker");

    private static TheoryData<string> NamesOf(string vectors)
    {
        var names = new TheoryData<string>();
        Vectors.Of(vectors).ToList().ForEach(vector => names.Add(vector.GetProperty("name").GetString()!));
        return names;
    }

    private static JsonElement Named(string vectors, string name) =>
        Vectors.Of(vectors).Single(vector => vector.GetProperty("name").GetString() == name);

    [Theory]
    [MemberData(nameof(Backoffs))]
    public async Task DelaysAreThoseOfTheSharedVectorsCutToMilliseconds(string name)
    {
        var vector = Named("backoff", name);
        var due = vector.GetProperty("delays_us").EnumerateArray().Select(delay => delay.GetInt64()).ToList();
        var backoff = RoundReader.Parsed<Backoff>(vector.GetProperty("backoff"));
        await GuardOf(new Retry(due.Count + 1, backoff, Jitter.None))(Answers(503), CancellationToken.None);
        var waits = _time.Waits.Select(wait => (long)wait.TotalMicroseconds).ToList();
        Assert.Equal(due.Where(delay => delay > 0).Select(delay => delay / 1000 * 1000), waits);
    }

    [Fact]
    public async Task JitterSpreadsADelayByAQuarterToEitherSide()
    {
        foreach (var backoff in new[] { new Backoff(new Fixed(40_000)), new Backoff(Linear: new Linear(40_000, 40_000)) })
        {
            foreach (var (drawn, due) in new[] { (0.0, 30), (0.5, 40), (0.999999, 49) })
            {
                _time.Waits.Clear();
                var retry = new Retry(2, backoff, new Jitter("share", 0.25));
                await GuardOf(retry, () => drawn)(Answers(503), CancellationToken.None);
                Assert.Equal(due, (int)Assert.Single(_time.Waits).TotalMilliseconds);
            }
        }
    }

    [Theory]
    [InlineData(null, 6)]
    [InlineData("503", 6)]
    [InlineData("404", 1)]
    public async Task ACallEndsWithItsLastAttemptAndAFailureThatIsNotNamedEndsItAtOnce(string? on, int attempts)
    {
        var made = 0;
        var retry = new Retry(6, AtOnce, Jitter.None, on is null ? null : [new Failure(on)]);
        Assert.Equal(503, await GuardOf(retry)(Answers(503, () => made++), CancellationToken.None));
        Assert.Equal(attempts, made);
    }

    [Fact]
    public async Task ARejectionIsNotTriedAgain()
    {
        var made = 0;
        var call = GuardOf(new Retry(6, AtOnce, Jitter.None))(Answers(Outcomes.Rejected, () => made++), default);
        Assert.Equal((Outcomes.Rejected, 1), (await call, made));
    }

    /// <summary>Polly has failures in a row, a share of the calls of a time that a failure reaches, and nothing else.</summary>
    private static readonly string[] Refused =
    [
        "no verdict below minimum calls",
        "the rate is reached, not passed: half of four",
        "slow successes open it",
        "two half-open calls, one of them failing, at half",
    ];

    [Theory]
    [MemberData(nameof(Breakers))]
    public async Task ABreakerDecidesAsTheSharedVectorSaysOrIsRefused(string name)
    {
        var vector = Named("breaker", name);
        var breaker = RoundReader.Parsed<CircuitBreaker>(vector.GetProperty("circuit_breaker"));
        var problems = new Problems("Polly");
        new PollyAdapter().Refuse(new Entry(breaker, [], 1), problems);
        Assert.Equal(!Refused.Contains(name), problems.All.Count == 0);
        if (problems.All.Count == 0)
        {
            await FollowAsync(GuardOf(breaker), vector);
        }
    }

    private async Task FollowAsync(Guard guard, JsonElement vector)
    {
        foreach (var step in vector.GetProperty("steps").EnumerateArray())
        {
            _time.SetUs(step.GetProperty("at_us").GetInt64());
            var answer = step.GetProperty("success").GetBoolean() ? 200 : 503;
            var call = Answers(answer, () => _time.PassUs(step.GetProperty("duration_us").GetInt64()));
            var admitted = await guard(call, CancellationToken.None) != Outcomes.Rejected;
            Assert.Equal(step.GetProperty("admitted").GetBoolean(), admitted);
        }
    }

    [Fact]
    public async Task ABreakerOfFailuresInARowLetsOneMoreInWheneverItsOpenTimeHasPassedAgain()
    {
        var guard = GuardOf(new CircuitBreaker(100, null, new Window(Calls: 1), 1, 20_000, 1, "client"));
        await guard(Answers(503), CancellationToken.None);
        _time.PassUs(20_000);
        var leave = new TaskCompletionSource<int>();
        var trying = guard(_ => new ValueTask<int>(leave.Task), CancellationToken.None);
        _time.PassUs(19_000);
        Assert.Equal(Outcomes.Rejected, await guard(Answers(200), CancellationToken.None));
        _time.PassUs(1_000);
        Assert.Equal(200, await guard(Answers(200), CancellationToken.None));
        leave.SetResult(503);
        Assert.Equal(503, await trying);
    }

    [Fact]
    public async Task ACallWhoseTimeWasOverCountsAsAFailureInARow()
    {
        var guard = GuardOf(new CircuitBreaker(100, null, new Window(Calls: 1), 1, 20_000, 1, "client"));
        await Assert.ThrowsAsync<OperationCanceledException>(
            () => guard(_ => throw new OperationCanceledException(), CancellationToken.None).AsTask());
        Assert.Equal(Outcomes.Rejected, await guard(Answers(200), CancellationToken.None));
    }

    [Theory]
    [InlineData(200)]
    [InlineData(503)]
    public async Task ABreakerTriesOneCallWhenItsWaitIsOverHoweverShort(int answer)
    {
        var guard = GuardOf(new CircuitBreaker(100, null, new Window(TimeUs: 1_000_000), 2, 20_000, 1, "client"));
        await guard(Answers(503), CancellationToken.None);
        await guard(Answers(503), CancellationToken.None);
        _time.PassUs(19_000);
        Assert.Equal(Outcomes.Rejected, await guard(Answers(200), CancellationToken.None));
        _time.PassUs(1_000);
        var leave = new TaskCompletionSource<int>();
        var trying = guard(_ => new ValueTask<int>(leave.Task), CancellationToken.None);
        Assert.Equal(Outcomes.Rejected, await guard(Answers(200), CancellationToken.None));
        leave.SetResult(answer);
        Assert.Equal(answer, await trying);
        Assert.Equal(answer == 200 ? 503 : Outcomes.Rejected, await guard(Answers(503), CancellationToken.None));
    }

    [Fact]
    public async Task ABulkheadLetsSoManyInAndSoManyWait()
    {
        var guard = GuardOf(new Bulkhead(1, 1, "client"));
        var leave = new TaskCompletionSource<int>();
        var inside = guard(_ => new ValueTask<int>(leave.Task), CancellationToken.None).AsTask();
        var waiting = guard(Answers(204), CancellationToken.None).AsTask();
        Assert.Equal(Outcomes.Rejected, await guard(Answers(200), CancellationToken.None));
        Assert.False(waiting.IsCompleted);
        leave.SetResult(200);
        Assert.Equal((200, 204), (await inside, await waiting));
    }

    [Fact]
    public async Task ATimeoutEndsWhatItGuards()
    {
        var guard = new PollyAdapter().Guard(new TimeoutPolicy(5_000), PreciseTime.Shared, () => 0.5);
        Assert.Equal(
            Outcomes.Timeout,
            await guard(
                async ended =>
                {
                    await Task.Delay(Timeout.InfiniteTimeSpan, ended);
                    return 200;
                },
                CancellationToken.None));
    }

    [Fact]
    public async Task ATimeoutEndsThePauseOfARetryThatItGuards()
    {
        var made = 0;
        var adapter = new PollyAdapter();
        var pausing = new Retry(2, new Backoff(new Fixed(60_000_000)), Jitter.None);
        var retry = adapter.Guard(pausing, PreciseTime.Shared, () => 0.5);
        var timeout = adapter.Guard(new TimeoutPolicy(5_000), PreciseTime.Shared, () => 0.5);
        var call = timeout(ended => retry(Answers(503, () => made++), ended), CancellationToken.None);
        Assert.Equal((Outcomes.Timeout, 1), (await call, made));
    }

    public static TheoryData<string, string[]> Refusals()
    {
        static string Retry(string backoff, string jitter, int attempts = 2) =>
            $$"""{"retry": {"max_attempts": {{attempts}}, "backoff": {{backoff}}, "jitter": {{jitter}} } }""";
        const string Fixed = """{"fixed": {"delay_us": 1000}}""";
        const string Linear = """{"linear": {"initial_us": 1000, "increment_us": 1000, "max_us": null}}""";
        const string Grown = """{"exponential": {"initial_us": 1000, "multiplier": 2, "max_us": null}}""";
        const string Bulkhead = """{"bulkhead": {"max_concurrent": 1, "max_waiting": 1, "scope": "client"}}""";
        const string Timeout = """{"timeout": {"after_us": 1000}}""";
        var row = Rounds.Breaker("client");
        var breaker = row.Replace("""{"calls": 2}""", """{"time_us": 500000}""");
        return new TheoryData<string, string[]>
        {
            { Retry(Fixed, "\"none\""), [] },
            { Retry(Fixed, "0.25"), [] },
            { Retry(Linear, "0.25"), [] },
            { Retry(Linear.Replace("null", "5000"), "0.25"), ["strategy.retry.jitter"] },
            { Retry(Grown, "0.25"), ["strategy.retry.jitter"] },
            { Retry(Fixed, "0.5"), ["strategy.retry.jitter"] },
            { Retry(Fixed, "\"full\""), ["strategy.retry.jitter"] },
            { Retry(Fixed, "\"none\"", 1), ["strategy.retry.max_attempts"] },
            { Retry(Fixed.Replace("1000", "1500"), "\"none\""), ["strategy.retry.backoff.fixed.delay_us"] },
            { breaker, [] },
            { breaker.Replace("500000", "499999"), ["strategy.circuit_breaker.window.time_us"] },
            { breaker.Replace("\"failure_rate\": 100", "\"failure_rate\": 50"), ["strategy.circuit_breaker.failure_rate"] },
            { breaker.Replace("\"minimum_calls\": 2", "\"minimum_calls\": 1"), ["strategy.circuit_breaker.minimum_calls"] },
            { breaker.Replace("\"half_open_calls\": 1", "\"half_open_calls\": 2"), ["strategy.circuit_breaker.half_open_calls"] },
            { breaker.Replace("null", "{\"rate\": 50, \"duration_us\": 1}"), ["strategy.circuit_breaker.slow_call"] },
            { row, [] },
            { row.Replace("\"failure_rate\": 100", "\"failure_rate\": 99.9"), ["strategy.circuit_breaker.failure_rate"] },
            { row.Replace("\"minimum_calls\": 2", "\"minimum_calls\": 1"), ["strategy.circuit_breaker.minimum_calls"] },
            { row.Replace("calls\": 2", "calls\": 2147483648"), ["strategy.circuit_breaker.window.calls"] },
            { $$"""{"stack": [{{breaker}}, {{Retry(Fixed, "\"none\"")}}, {{Timeout}}]}""", [] },
            { $$"""{"stack": [{{breaker}}, {{Bulkhead}}]}""", ["strategy.stack[0].circuit_breaker"] },
            { $$"""{"stack": [{{Timeout}}, {{Retry(Fixed, "\"none\"")}}]}""", [] },
            {
                $$"""{"stack": [{{Bulkhead.Replace("\"scope\"", "\"max_wait_us\": 5, \"scope\"")}}]}""",
                ["strategy.stack[0].bulkhead.max_wait_us"]
            },
            {
                $$"""{"stack": [{{Bulkhead.Replace("\"max_concurrent\": 1", "\"max_concurrent\": 2147483648")}}]}""",
                ["strategy.stack[0].bulkhead.max_concurrent"]
            },
        };
    }

    [Theory]
    [MemberData(nameof(Refusals))]
    public void WhatTheLibraryCannotExpressIsRefusedByName(string strategy, string[] refused) =>
        Assert.Equal(refused, Rounds.Refused(new PollyAdapter(), Rounds.Of(strategy)));

    /// <summary>A bucket of one token that is filled by hand, which .NET documents as the exact way.</summary>
    [Fact]
    public void ATokenBucketThatStoodIdleLetsTwoOutAtOnceWhichIsWhyRateLimitsAreRefused()
    {
        using var bucket = new TokenBucketRateLimiter(new TokenBucketRateLimiterOptions
        {
            TokenLimit = 1,
            TokensPerPeriod = 1,
            ReplenishmentPeriod = TimeSpan.FromMilliseconds(200),
            QueueLimit = 0,
            AutoReplenishment = false,
        });
        Thread.Sleep(250);
        bucket.TryReplenish();
        Assert.True(bucket.AttemptAcquire().IsAcquired);
        bucket.TryReplenish();
        Assert.True(bucket.AttemptAcquire().IsAcquired);
    }

    [Fact]
    public void ARateLimitIsRefusedWithTheDifference()
    {
        const string Limit =
            """{"rate_limit": {"calls": 1, "per_us": 40000, "burst": 1, "max_wait_us": 0, "scope": "client"}}""";
        var round = System.Text.Encoding.UTF8.GetBytes(Rounds.Of($$"""{"stack": [{{Limit}}]}"""));
        var problem = Assert.Single(RoundReader.Read(round, new PollyAdapter()).Problems);
        Assert.Equal(("strategy.stack[0].rate_limit", Expressible.NoRateLimit), (problem.Path, problem.Message));
    }
}
