using System.Net;
using System.Runtime.CompilerServices;
using System.Text.Json;
using System.Text.RegularExpressions;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Http.Resilience;
using Patternbench.Kit.Tests;
using Polly;
using Polly.CircuitBreaker;
using Xunit;

namespace Patternbench.PollyClient.Tests;

/// <summary>
/// What <c>patternbench apply</c> writes is read by .NET's own binder, taken by the standard handler, and decides the
/// shared vectors as the client does that was measured.
/// </summary>
public sealed class AppliedConfigurationTest
{
    /// <summary>How much longer the times of a breaker's vector are, since the handler takes half a second at least.</summary>
    private const long Stretch = 25;

    private readonly SetTime _time = new();

    private static string Folder([CallerFilePath] string here = "")
    {
        var root = Directory.GetParent(here)!;
        while (!Directory.Exists(Path.Combine(root.FullName, "contracts")))
        {
            root = root.Parent!;
        }

        return Path.Combine(root.FullName, "tests", "golden", "configurations");
    }

    private static IEnumerable<string> Exact(string kind) =>
        JsonDocument.Parse(File.ReadAllText(Path.Combine(Folder(), "exact.json")))
            .RootElement.GetProperty("polly").EnumerateArray()
            .Select(name => name.GetString()!).Where(name => name.StartsWith(kind, StringComparison.Ordinal));

    public static TheoryData<string> Backoffs() => new(Exact("backoff-"));

    public static TheoryData<string> Breakers() => new(Exact("breaker-"));

    /// <summary>Every file that is more than a list of what can't be said.</summary>
    public static TheoryData<string> Files() => new(
        Directory.EnumerateFiles(Path.Combine(Folder(), "polly"), "*.json")
            .Where(file => File.ReadLines(file).Any(line => line == "{"))
            .Select(file => Path.GetFileNameWithoutExtension(file)));

    private static IConfigurationSection Section(string name) =>
        new ConfigurationBuilder().AddJsonFile(Path.Combine(Folder(), "polly", $"{name}.json")).Build()
            .GetSection("Resilience:service");

    private static HttpStandardResilienceOptions Bound(string name)
    {
        var options = new HttpStandardResilienceOptions();
        Section(name).Bind(options);
        return options;
    }

    private static JsonElement VectorOf(string file, string name) =>
        Vectors.Of(file).Single(vector => name == $"{file}-{Slug(vector.GetProperty("name").GetString()!)}");

    private static string Slug(string name) =>
        Regex.Replace(name.ToLowerInvariant(), "[^a-z0-9]+", "-").Trim('-');

    [Theory]
    [MemberData(nameof(Files))]
    public async Task TheStandardHandlerTakesTheFileAndSendsThroughIt(string name)
    {
        var services = new ServiceCollection();
        services.AddLogging();
        services.AddHttpClient("service").ConfigurePrimaryHttpMessageHandler(() => new Answering(HttpStatusCode.OK))
            .AddStandardResilienceHandler(Section(name));
        using var provider = services.BuildServiceProvider();
        using var client = provider.GetRequiredService<IHttpClientFactory>().CreateClient("service");
        using var answer = await client.GetAsync("http://service.example/");
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
    }

    [Theory]
    [MemberData(nameof(Backoffs))]
    public async Task TheDelaysThatAreBoundAreThoseOfTheVector(string name)
    {
        var due = VectorOf("backoff", name).GetProperty("delays_us").EnumerateArray()
            .Select(us => TimeSpan.FromMicroseconds(us.GetInt64())).ToList();
        var retry = new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = _time }
            .AddRetry(Bound(name).Retry).Build();
        var made = 0;
        using var last = await retry.ExecuteAsync(_ =>
        {
            made++;
            return ValueTask.FromResult(new HttpResponseMessage(HttpStatusCode.ServiceUnavailable));
        });
        Assert.Equal(due.Count + 1, made);
        Assert.Equal(due.Where(delay => delay > TimeSpan.Zero), _time.Waits);
    }

    [Theory]
    [MemberData(nameof(Breakers))]
    public async Task TheBreakerThatIsBoundDecidesAsTheVectorSays(string name)
    {
        var breaker = new ResiliencePipelineBuilder<HttpResponseMessage> { TimeProvider = _time }
            .AddCircuitBreaker(Bound(name).CircuitBreaker).Build();
        foreach (var step in VectorOf("breaker", name).GetProperty("steps").EnumerateArray())
        {
            _time.SetUs(step.GetProperty("at_us").GetInt64() * Stretch);
            Assert.Equal(step.GetProperty("admitted").GetBoolean(), await AdmittedAsync(breaker, step));
        }
    }

    private async Task<bool> AdmittedAsync(ResiliencePipeline<HttpResponseMessage> breaker, JsonElement step)
    {
        var status = step.GetProperty("success").GetBoolean() ? HttpStatusCode.OK : HttpStatusCode.ServiceUnavailable;
        try
        {
            using var answer = await breaker.ExecuteAsync(_ =>
            {
                _time.PassUs(step.GetProperty("duration_us").GetInt64() * Stretch);
                return ValueTask.FromResult(new HttpResponseMessage(status));
            });
            return true;
        }
        catch (BrokenCircuitException)
        {
            return false;
        }
    }

    [Fact]
    public void ThereAreVectorsToFollow()
    {
        Assert.True(Exact("backoff-").Count() >= 3);
        Assert.NotEmpty(Exact("breaker-"));
    }

    /// <summary>The handler's own defaults, written as a stack and read back.</summary>
    [Fact]
    public void TheHandlersDefaultsComeBackButForTheirJitterAndRetryAfter()
    {
        var (bound, own) = (Bound("stack-the-standard-handler"), new HttpStandardResilienceOptions());
        Assert.Equal(own.RateLimiter.DefaultRateLimiterOptions.PermitLimit, bound.RateLimiter.DefaultRateLimiterOptions.PermitLimit);
        Assert.Equal(own.TotalRequestTimeout.Timeout, bound.TotalRequestTimeout.Timeout);
        Assert.Equal(own.AttemptTimeout.Timeout, bound.AttemptTimeout.Timeout);
        Assert.Equal(
            (own.Retry.MaxRetryAttempts, own.Retry.Delay, own.Retry.BackoffType),
            (bound.Retry.MaxRetryAttempts, bound.Retry.Delay, bound.Retry.BackoffType));
        Assert.Equal((false, false), (bound.Retry.UseJitter, bound.Retry.ShouldRetryAfterHeader));
        Assert.Equal(
            (own.CircuitBreaker.FailureRatio, own.CircuitBreaker.MinimumThroughput),
            (bound.CircuitBreaker.FailureRatio, bound.CircuitBreaker.MinimumThroughput));
        Assert.Equal(
            (own.CircuitBreaker.SamplingDuration, own.CircuitBreaker.BreakDuration),
            (bound.CircuitBreaker.SamplingDuration, bound.CircuitBreaker.BreakDuration));
    }

    private sealed class Answering(HttpStatusCode status) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken ended) =>
            Task.FromResult(new HttpResponseMessage(status));
    }
}
