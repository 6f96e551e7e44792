using System.Net;
using System.Text.Json;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Patternbench.Kit;

/// <summary>The contract's side of the client: HTTP on a loopback address, one round at a time.</summary>
internal sealed class ContractServer : IAsyncDisposable
{
    private const string Calls = "GET /client, POST /check, POST /rounds";
    private const int MostBodyBytes = 16 * 1024 * 1024;

    /// <summary>Twice within the contract's 200 ms, with room for a busy machine.</summary>
    private static readonly TimeSpan BatchEvery = TimeSpan.FromMilliseconds(80);

    private static readonly JsonSerializerOptions SnakeCase =
        new() { PropertyNamingPolicy = JsonNamingPolicy.SnakeCaseLower };

    private readonly IAdapter _adapter;
    private readonly WebApplication _application;
    private int _busy;

    private ContractServer(int port, IAdapter adapter)
    {
        _adapter = adapter;
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        // The process may be ended in the middle of a round.
        builder.Services.Configure<HostOptions>(host => host.ShutdownTimeout = TimeSpan.FromSeconds(1));
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            kestrel.Limits.MaxRequestBodySize = MostBodyBytes;
            kestrel.Listen(IPAddress.Loopback, port);
        });
        _application = builder.Build();
        _application.Run(AnswerAsync);
    }

    /// <summary>Where it listens, as <c>127.0.0.1:PORT</c>.</summary>
    internal string Address => new Uri(_application.Urls.First()).Authority;

    /// <summary>Serves on a port of the loopback address; 0 takes a free one.</summary>
    internal static async Task<ContractServer> StartAsync(int port, IAdapter adapter)
    {
        var server = new ContractServer(port, adapter);
        await server._application.StartAsync().ConfigureAwait(false);
        return server;
    }

    /// <summary>Runs until the process is told to end.</summary>
    internal Task WaitAsync() => _application.WaitForShutdownAsync();

    public ValueTask DisposeAsync() => _application.DisposeAsync();

    private Task AnswerAsync(HttpContext http)
    {
        var call = $"{http.Request.Method} {http.Request.Path}";
        return call switch
        {
            "GET /client" => ReplyAsync(http, 200, _adapter.Description.AsJson()),
            "POST /check" => CheckAsync(http),
            "POST /rounds" => RoundAsync(http),
            _ => ReplyAsync(http, 404, Error($"{call} isn't one of {Calls}")),
        };
    }

    private async Task CheckAsync(HttpContext http)
    {
        var (_, problems) = await ReadAsync(http).ConfigureAwait(false);
        await ReplyAsync(http, 200, new { problems }).ConfigureAwait(false);
    }

    private async Task RoundAsync(HttpContext http)
    {
        var (round, problems) = await ReadAsync(http).ConfigureAwait(false);
        if (round is null)
        {
            await ReplyAsync(http, 422, new { problems }).ConfigureAwait(false);
        }
        else if (Interlocked.CompareExchange(ref _busy, 1, 0) == 0)
        {
            await StreamAsync(http, round).ConfigureAwait(false);
        }
        else
        {
            var busy = Error("another round is running; wait for its end, or close it");
            await ReplyAsync(http, 409, busy).ConfigureAwait(false);
        }
    }

    private async Task<(Round? Round, IReadOnlyList<Problem> Problems)> ReadAsync(HttpContext http)
    {
        using var body = new MemoryStream();
        await http.Request.Body.CopyToAsync(body, http.RequestAborted).ConfigureAwait(false);
        return RoundReader.Read(body.GetBuffer().AsSpan(0, (int)body.Length), _adapter);
    }

    /// <summary>The last line goes out when the client is free again: who has read it may start a round.</summary>
    private async Task StreamAsync(HttpContext http, Round round)
    {
        object last;
        try
        {
            http.Response.ContentType = "application/x-ndjson";
            await http.Response.StartAsync(http.RequestAborted).ConfigureAwait(false);
            last = await RunAsync(http, round).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            return; // nobody listens any more
        }
        finally
        {
            Volatile.Write(ref _busy, 0);
        }

        var line = JsonSerializer.SerializeToUtf8Bytes(last, SnakeCase);
        await WriteAsync(http, [.. line, (byte)'\n']).ConfigureAwait(false);
    }

    /// <summary>Streams a round's batches and gives its last line. The round ends when the other side has gone.</summary>
    private async Task<object> RunAsync(HttpContext http, Round round)
    {
        var running = new RunningRound(round, _adapter, http.RequestAborted);
        await using (running.ConfigureAwait(false))
        {
            await WriteBatchesAsync(http, running).ConfigureAwait(false);
            return LastLine(running);
        }
    }

    /// <summary>Without rows there is an empty batch, which notices whether anyone still listens.</summary>
    private static async Task WriteBatchesAsync(HttpContext http, RunningRound running)
    {
        for (var ended = false; !ended;)
        {
            await Task.WhenAny(running.Ended, Task.Delay(BatchEvery, http.RequestAborted)).ConfigureAwait(false);
            http.RequestAborted.ThrowIfCancellationRequested();
            ended = running.Ended.IsCompleted;
            await WriteAsync(http, Rows.Lines(running.Rows.Take())).ConfigureAwait(false);
        }
    }

    private static object LastLine(RunningRound running) => running.Defect is { } defect
        ? Error($"a user could not go on: {defect.GetType().Name}: {defect.Message}")
        : new { end = new { rows = running.Rows.Taken, duration_us = running.DurationUs, cpu_us = running.CpuUs } };

    private static async Task WriteAsync(HttpContext http, byte[] text)
    {
        await http.Response.Body.WriteAsync(text, http.RequestAborted).ConfigureAwait(false);
        await http.Response.Body.FlushAsync(http.RequestAborted).ConfigureAwait(false);
    }

    private static object Error(string message) => new { error = message };

    private static async Task ReplyAsync(HttpContext http, int status, object answer)
    {
        var body = JsonSerializer.SerializeToUtf8Bytes(answer, SnakeCase);
        http.Response.StatusCode = status;
        http.Response.ContentType = "application/json";
        http.Response.ContentLength = body.Length;
        await http.Response.Body.WriteAsync(body, http.RequestAborted).ConfigureAwait(false);
    }
}
