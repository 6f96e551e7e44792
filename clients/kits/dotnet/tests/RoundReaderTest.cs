using System.Text;
using System.Text.Json.Nodes;
using Xunit;

namespace Patternbench.Kit.Tests;

public sealed class RoundReaderTest
{
    private static IReadOnlyList<IPolicy> PoliciesOf(string strategy)
    {
        var (round, problems) = RoundReader.Read(Encoding.UTF8.GetBytes(Rounds.Of(strategy)), new PlainAdapter());
        Assert.Empty(problems);
        return round!.Strategy.Policies;
    }

    [Fact]
    public void EveryFieldOfAStrategyIsRead()
    {
        const string Breaker = """
            {"circuit_breaker": {"failure_rate": 50, "slow_call": {"rate": 20, "duration_us": 7}, "window": {"calls": 2},
             "minimum_calls": 1, "open_for_us": 20000, "half_open_calls": 3, "scope": "user"}}
            """;
        Assert.Equal(
            new CircuitBreaker(50, new SlowCall(20, 7), new Window(Calls: 2), 1, 20_000, 3, "user"),
            Assert.Single(PoliciesOf(Breaker)));
        const string Retry = """
            {"retry": {"max_attempts": 3, "jitter": 0.5,
             "backoff": {"exponential": {"initial_us": 1, "multiplier": 1.5, "max_us": null}}}}
            """;
        Assert.Equal(
            new Retry(3, new Backoff(Exponential: new Exponential(1, 1.5)), new Jitter("share", 0.5)),
            Assert.Single(PoliciesOf(Retry)));
        Assert.Empty(PoliciesOf("""{"baseline": {}}"""));
    }

    [Fact]
    public void AStackIsReadInItsOrder()
    {
        var policies = PoliciesOf(
            """
            {"stack": [{"timeout": {"after_us": 5}}, {"retry": {"max_attempts": 2, "jitter": "none",
             "backoff": {"fixed": {"delay_us": 0}}, "on": [503, "500-599", "timeout"], "retry_after_max_us": 0}}]}
            """);
        Assert.Equal(new TimeoutPolicy(5), policies[0]);
        var retry = Assert.IsType<Retry>(policies[1]);
        Assert.Equal(["503", "500-599", "timeout"], retry.On!.Select(failure => failure.Name));
    }

    [Theory]
    [InlineData(503, true)]
    [InlineData(429, true)]
    [InlineData(Outcomes.Timeout, true)]
    [InlineData(404, false)]
    [InlineData(Outcomes.ConnectionError, false)]
    [InlineData(Outcomes.Rejected, false)]
    public void ARetryTriesAgainWhatItNames(int outcome, bool retried)
    {
        var on = new[] { new Failure("500-599"), new Failure("429"), new Failure("timeout") };
        Assert.Equal(retried, new Retry(2, new Backoff(new Fixed(0)), Jitter.None, on).IsRetried(outcome));
    }

    [Fact]
    public void WithoutAListEveryFailureIsTriedAgainAndNoRejection()
    {
        var retry = new Retry(2, new Backoff(new Fixed(0)), Jitter.None);
        Assert.True(retry.IsRetried(404) && retry.IsRetried(Outcomes.ConnectionError));
        Assert.False(retry.IsRetried(302) || retry.IsRetried(Outcomes.Rejected));
    }

    [Fact]
    public void DelaysAreThoseOfTheSharedVectors()
    {
        foreach (var vector in Vectors.Of("backoff"))
        {
            var backoff = RoundReader.Parsed<Backoff>(vector.GetProperty("backoff"));
            var due = vector.GetProperty("delays_us").EnumerateArray().Select(delay => delay.GetDouble()).ToList();
            Assert.All(due, (delay, i) => Assert.Equal(delay, backoff.DelayUs(i + 1), 1e-6));
        }
    }

    [Fact]
    public void WhatTheLibraryLacksIsRefusedWhereItStands()
    {
        const string Hedge = """{"hedge": {"delay_us": 1, "max_attempts": 2}}""";
        var late = Rounds.Fixed.Replace("\"none\"", "\"none\", \"retry_after_max_us\": 1");
        var stack = $$"""{"stack": [{{Hedge}}, {"retry": {{late}}}, {{Hedge}}]}""";
        Assert.Equal(
            ["strategy.stack[0].hedge", "strategy.stack[1].retry.retry_after_max_us", "strategy.stack[2].hedge"],
            Rounds.Refused(new PlainAdapter(), Rounds.Of(stack)));
        Assert.Equal(["strategy"], Rounds.Refused(new PlainAdapter(), Rounds.Of(Hedge)));
    }

    [Theory]
    [InlineData("\"contract\":1", "\"contract\":2")]
    [InlineData("\"seed\":1", "\"seed\":1,\"surprise\":1")]
    [InlineData("\"body\":null", "\"body\":null,\"surprise\":1")]
    [InlineData("\"jitter\":\"none\"", "\"jitter\":\"none\",\"surprise\":1")]
    public void AnotherVersionAndItsFieldsAreRefused(string old, string changed)
    {
        var round = Rounds.Of($$"""{"retry": {{Rounds.Fixed}}}""");
        Assert.Contains(old, round);
        Assert.Empty(Rounds.Refused(new PlainAdapter(), round));
        Assert.Single(Rounds.Refused(new PlainAdapter(), round.Replace(old, changed)));
    }

    [Theory]
    [InlineData("")]
    [InlineData("{")]
    [InlineData("null")]
    [InlineData("[]")]
    [InlineData("{}")]
    [InlineData("{\"contract\": 1}")]
    [InlineData("{\"contract\": 1, \"target\": \"http://127.0.0.1:1\", \"strategy\": {\"baseline\": {}}}")]
    [InlineData("{\"contract\": 1")]
    [InlineData("{} {}")]
    public void WhatIsNoRoundIsAProblemAndNoException(string body) =>
        Assert.Single(Rounds.Refused(new PlainAdapter(), body));

    [Fact]
    public void HeadersThatTheClientSetsItselfAreRefused()
    {
        var request = JsonNode.Parse(
            """
            {"method": "GET", "path": "/", "headers": {"Content-Length": "3", "X-Fine": "yes"}, "body": null,
             "timeout_us": 1}
            """);
        var round = Rounds.Of("""{"baseline": {}}""", ("request", request));
        Assert.Equal(["request.headers.Content-Length"], Rounds.Refused(new PlainAdapter(), round));
    }

    [Fact]
    public void ATimeThatTheLibraryWouldCutIsRefusedWithTheNextThatItCounts()
    {
        var problems = new Problems("Some library");
        problems.Milliseconds("a", 1500);
        problems.Milliseconds("b", 2000);
        problems.Milliseconds("c", null);
        var problem = Assert.Single(problems.All);
        Assert.Equal(("a", "a multiple of 1000, for instance 2000"), (problem.Path, problem.Allowed));
    }

    [Theory]
    [InlineData(100, 9, 0)]
    [InlineData(51, 2, 0)]
    [InlineData(50, 2, 1)] // a success is the second call, and half of two have failed
    public void AShareThatASuccessCouldReachIsRefused(double rate, long least, int refused)
    {
        var problems = new Problems("Some library");
        var window = new Window(TimeUs: 1_000_000);
        problems.ShareThatASuccessCouldReach(new CircuitBreaker(rate, null, window, least, 1, 1, "user"));
        Assert.Equal(refused, problems.All.Count);
    }
}
