using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using Xunit;

namespace Patternbench.Kit.Tests;

/// <summary>Exact counts of calls, attempts and rejections, over real sockets.</summary>
public sealed class ContractServerTest(WarmServer warm) : IClassFixture<WarmServer>
{
    private readonly HttpClient _http = warm.Http;
    private readonly ContractServer _server = warm.Server;

    [Fact]
    public async Task ARetryMakesExactlyTheAttemptsOfItsScript()
    {
        using var target = new ScriptedTarget(503, 404, 200, 503, 503, 503, 200);
        var rows = await RowsAsync(target, $$"""{"retry": {{Rounds.Fixed}}}""", ("users", 1), ("successes", 2));
        Assert.Equal(["0.1 503", "0.2 404", "0.3 200", "1.1 503", "1.2 503", "1.3 503", "2.1 200"], rows);
        Assert.Equal((7, 1), (target.Requests, target.Connections));
    }

    [Fact]
    public async Task AConnectionThatIsClosedUnansweredIsOneAttempt()
    {
        using var target = new ScriptedTarget(ScriptedTarget.Closes, 200, ScriptedTarget.Closes, 302);
        var rows = await RowsAsync(target, """{"baseline": {}}""", ("users", 1), ("successes", 2));
        Assert.Equal(["0.1 connection_error", "1.1 200", "2.1 connection_error", "3.1 302"], rows);
        Assert.Equal(4, target.Requests);
    }

    [Fact]
    public async Task AnAttemptWithoutAnAnswerIsATimeoutAndTheNextGoesOn()
    {
        using var target = new ScriptedTarget(ScriptedTarget.Hangs, ScriptedTarget.Hangs, 200);
        var rows = await RowsAsync(target, """{"baseline": {}}""", ("users", 1), ("request", RequestOf(200_000)));
        Assert.Equal(["0.1 timeout", "1.1 timeout", "2.1 200"], rows);
    }

    [Fact]
    public async Task AnAttemptThatAPolicyEndsIsATimeout()
    {
        using var target = new ScriptedTarget(ScriptedTarget.Hangs, 200);
        var stack = $$"""{"stack": [{"retry": {{Rounds.Fixed}}}, {"timeout": {"after_us": 200000} }]}""";
        Assert.Equal(["0.1 timeout", "0.2 200"], await RowsAsync(target, stack, ("users", 1)));
    }

    [Fact]
    public async Task ARejectedCallCostsNoAttemptAndIsFollowedByItsPause()
    {
        using var target = new ScriptedTarget(503);
        var rows = await RowsAsync(
            target,
            Rounds.Breaker("client"),
            ("users", 1),
            ("successes", null),
            ("rejected_pause_us", 100_000),
            ("time_limit_us", 1_000_000));
        Assert.Equal(["0.1 503", "1.1 503", "2.0 rejected"], rows.Take(3));
        Assert.InRange(rows.Count, 3, 12);
    }

    [Theory]
    [InlineData("user", 8)]
    [InlineData("client", 2)]
    public async Task APolicyIsOneForAllUsersOrOneForEachAndNewInEveryRound(string scope, int attempts)
    {
        foreach (var _ in Enumerable.Range(0, 2))
        {
            using var target = new ScriptedTarget(503);
            await RowsAsync(
                target, Rounds.Breaker(scope), ("users", 4), ("successes", null), ("time_limit_us", 600_000));
            Assert.Equal(attempts, target.Requests);
        }
    }

    [Fact]
    public async Task ACallThatWasRejectedAfterAnAttemptEndsWithThatAttempt()
    {
        using var target = new ScriptedTarget(503);
        var stack = $$"""{"stack": [{"retry": {{Rounds.Fixed}}}, {{Rounds.Breaker("client")}}]}""";
        var rows = await RowsAsync(target, stack, ("users", 1), ("successes", null), ("time_limit_us", 500_000));
        Assert.Equal(["0.1 503", "0.2 503", "1.0 rejected"], rows.Take(3));
    }

    [Fact]
    public async Task ARoundThatNobodyListensToIsAbandonedAndTheNextOneRuns()
    {
        using var hanging = new ScriptedTarget(ScriptedTarget.Hangs);
        using var target = new ScriptedTarget(200);
        var body = RoundAt(
            hanging, """{"baseline": {}}""", ("request", RequestOf(60_000_000)), ("time_limit_us", 60_000_000));
        var next = RoundAt(target, """{"baseline": {}}""");
        using (var request = new HttpRequestMessage(HttpMethod.Post, UrlOf("/rounds")) { Content = Json(body) })
        using (await _http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead))
        {
            Assert.Equal(HttpStatusCode.Conflict, (await _http.PostAsync(UrlOf("/rounds"), Json(next))).StatusCode);
        }

        using var bound = new CancellationTokenSource(TimeSpan.FromSeconds(10));
        var status = HttpStatusCode.Conflict;
        while (status == HttpStatusCode.Conflict)
        {
            status = (await _http.PostAsync(UrlOf("/rounds"), Json(next), bound.Token)).StatusCode;
        }

        Assert.Equal(HttpStatusCode.OK, status);
    }

    [Fact]
    public async Task ARoundThatIsNotUnderstoodIsAnsweredWith422()
    {
        var answer = await _http.PostAsync(UrlOf("/rounds"), Json("""{"users": 1}"""));
        Assert.Equal(HttpStatusCode.UnprocessableEntity, answer.StatusCode);
        Assert.Contains("\"path\":\"contract\"", await answer.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task ARoundWithoutProblemsIsAnsweredWithAnEmptyList()
    {
        var answer = await _http.PostAsync(UrlOf("/check"), Json(Rounds.Of("""{"baseline": {}}""")));
        Assert.Equal("""{"problems":[]}""", await answer.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task AnUnknownPathSaysWhatThereIs()
    {
        var answer = await _http.PostAsync(UrlOf("/round"), Json(""));
        Assert.Equal(HttpStatusCode.NotFound, answer.StatusCode);
        Assert.Contains("GET /client, POST /check, POST /rounds", await answer.Content.ReadAsStringAsync());
    }

    [Fact]
    public void APortIsANumberUpTo65535()
    {
        foreach (var words in new[] { "--port 70000", "--port x", "--prot 0", "--port" })
        {
            Assert.Null(ClientMain.PortOf(words.Split(' ')));
        }

        Assert.Equal(9000, ClientMain.PortOf(["--port", "9000"]));
        Assert.Equal(0, ClientMain.PortOf([]));
    }

    private static JsonNode RequestOf(long timeoutUs) =>
        JsonNode.Parse($$"""{"method": "GET", "path": "/", "headers": {}, "body": null, "timeout_us": {{timeoutUs}}}""")!;

    private static string RoundAt(ScriptedTarget target, string strategy, params (string, JsonNode?)[] changes) =>
        Rounds.Of(strategy, [("target", target.Url), .. changes]);

    private static StringContent Json(string body) => new(body, Encoding.UTF8, "application/json");

    private string UrlOf(string path) => $"http://{_server.Address}{path}";

    /// <summary>Runs a round: each row as "call.attempt outcome".</summary>
    private async Task<List<string>> RowsAsync(
        ScriptedTarget target, string strategy, params (string, JsonNode?)[] changes)
    {
        var answer = await _http.PostAsync(UrlOf("/rounds"), Json(RoundAt(target, strategy, changes)));
        var text = await answer.Content.ReadAsStringAsync();
        Assert.Contains("{\"end\":", text);
        var batches = text.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonDocument.Parse(line).RootElement)
            .Where(line => line.TryGetProperty("batch", out _))
            .Select(line => line.GetProperty("batch"));
        return batches.SelectMany(RowsOf).ToList();
    }

    private static IEnumerable<string> RowsOf(JsonElement batch) =>
        Enumerable.Range(0, batch.GetProperty("user").GetArrayLength())
            .Select(i => $"{batch.GetProperty("call")[i]}.{batch.GetProperty("attempt")[i]} {batch.GetProperty("outcome")[i]}");
}

/// <summary>
/// A server that has made its first calls, as every client has before it says that it listens: those load and compile
/// code, which can take longer than the times of the tests.
/// </summary>
public sealed class WarmServer : IAsyncLifetime
{
    internal HttpClient Http { get; } = new();

    internal ContractServer Server { get; private set; } = null!;

    public async Task InitializeAsync()
    {
        var adapter = new PlainAdapter();
        Server = await ContractServer.StartAsync(0, adapter);
        await WarmUp.AgainstAsync(Server.Address, adapter);
    }

    public async Task DisposeAsync()
    {
        Http.Dispose();
        await Server.DisposeAsync();
    }
}

/// <summary>Answers requests by a script, of which the last entry goes on for ever.</summary>
internal sealed class ScriptedTarget : IDisposable
{
    internal const int Closes = 0;
    internal const int Hangs = -1;

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _ended = new();
    private readonly int[] _script;
    private int _requests;
    private int _connections;

    internal ScriptedTarget(params int[] script)
    {
        _script = script;
        _listener.Start();
        _ = AcceptAsync();
    }

    internal string Url => $"http://{_listener.LocalEndpoint}";

    internal int Requests => Volatile.Read(ref _requests);

    internal int Connections => Volatile.Read(ref _connections);

    public void Dispose()
    {
        _ended.Cancel();
        _listener.Stop();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                var client = await _listener.AcceptTcpClientAsync(_ended.Token);
                Interlocked.Increment(ref _connections);
                _ = ServeAsync(client);
            }
        }
        catch (Exception e) when (e is OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // the test is over
        }
    }

    private async Task ServeAsync(TcpClient client)
    {
        using (client)
        {
            try
            {
                using var reader = new StreamReader(client.GetStream(), Encoding.ASCII);
                while (await HeadAsync(reader))
                {
                    var status = _script[Math.Min(Interlocked.Increment(ref _requests) - 1, _script.Length - 1)];
                    if (status == Closes)
                    {
                        return;
                    }

                    await AnswerAsync(client, status);
                }
            }
            catch (Exception e) when (e is IOException or OperationCanceledException or ObjectDisposedException)
            {
                // the client has gone, or the test is over
            }
        }
    }

    /// <summary>Reads the head of a request; false when there is none. Our requests have no body.</summary>
    private async Task<bool> HeadAsync(StreamReader reader)
    {
        var line = await reader.ReadLineAsync(_ended.Token);
        while (!string.IsNullOrEmpty(line))
        {
            line = await reader.ReadLineAsync(_ended.Token);
        }

        return line is not null;
    }

    private async Task AnswerAsync(TcpClient client, int status)
    {
        if (status == Hangs)
        {
            await Task.Delay(Timeout.InfiniteTimeSpan, _ended.Token);
        }

        var answer = $"HTTP/1.1 {status} Scripted\r\nContent-Length: 2\r\n\r\nok";
        await client.GetStream().WriteAsync(Encoding.ASCII.GetBytes(answer), _ended.Token);
    }
}
