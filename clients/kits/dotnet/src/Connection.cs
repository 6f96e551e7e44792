using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Patternbench.Kit;

/// <summary>
/// The one connection of a user: kept alive, without retries, redirects or cookies of its own. It belongs to one user,
/// who makes one attempt after another.
/// </summary>
internal sealed class Connection : IDisposable
{
    private static readonly UriCreationOptions AsItIs = new() { DangerousDisablePathAndQueryCanonicalization = true };

    /// <summary>The longest time that a token source takes.</summary>
    private const double LongestUs = int.MaxValue * 1000.0;

    private readonly Request _request;
    private readonly Uri _uri;
    private readonly byte[]? _body;
    private readonly TimeSpan _timeout;
    private readonly string _userAgent;
    private readonly HttpMessageInvoker _client;

    /// <summary>Whether bytes of the attempt under way have gone out.</summary>
    private volatile bool _sent;

    internal Connection(Round round, string userAgent)
    {
        _request = round.Request;
        _uri = new Uri(round.Target.TrimEnd('/') + round.Request.Path, AsItIs);
        _body = round.Request.Body is { } text ? Encoding.UTF8.GetBytes(text) : null;
        _timeout = TimeSpan.FromMicroseconds(Math.Min(round.Request.TimeoutUs, LongestUs));
        _userAgent = userAgent;
        _client = new HttpMessageInvoker(Handler());
    }

    /// <summary>
    /// One attempt: its outcome once the last byte has been read, or when it failed. An attempt whose token is
    /// cancelled is a timeout: a policy around it has ended it.
    /// </summary>
    internal async ValueTask<int> SendAsync(CancellationToken ended)
    {
        using var late = new CancellationTokenSource(_timeout, PreciseTime.Shared);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(ended, late.Token);
        _sent = false;
        try
        {
            using var message = Message();
            using var answer = await _client.SendAsync(message, either.Token).ConfigureAwait(false);
            await answer.Content.CopyToAsync(Stream.Null, either.Token).ConfigureAwait(false);
            return Outcomes.OfStatus((int)answer.StatusCode);
        }
        catch (Exception e) when (e is OperationCanceledException or HttpRequestException or IOException)
        {
            return either.IsCancellationRequested ? Outcomes.Timeout : Outcomes.ConnectionError;
        }
    }

    public void Dispose() => _client.Dispose();

    private SocketsHttpHandler Handler() => new()
    {
        MaxConnectionsPerServer = 1,
        PooledConnectionIdleTimeout = Timeout.InfiniteTimeSpan,
        PooledConnectionLifetime = Timeout.InfiniteTimeSpan,
        AllowAutoRedirect = false,
        AutomaticDecompression = DecompressionMethods.None,
        UseCookies = false,
        UseProxy = false,
        ActivityHeadersPropagator = null,
        ConnectCallback = ConnectAsync,
    };

    /// <summary>
    /// Opens a connection for an attempt of which nothing has been sent yet. The library sends a request again by
    /// itself when a connection breaks; that would be an attempt that no row tells of.
    /// </summary>
    private async ValueTask<Stream> ConnectAsync(SocketsHttpConnectionContext context, CancellationToken ended)
    {
        if (_sent)
        {
            throw new IOException("an attempt is sent once");
        }

        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(context.DnsEndPoint, ended).ConfigureAwait(false);
            return new WatchedStream(new NetworkStream(socket, ownsSocket: true), () => _sent = true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private HttpRequestMessage Message()
    {
        var message = new HttpRequestMessage(new HttpMethod(_request.Method), _uri)
        {
            Version = HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = _body is null ? null : new ByteArrayContent(_body),
        };
        if (!_request.Headers.Keys.Contains("User-Agent", StringComparer.OrdinalIgnoreCase))
        {
            message.Headers.TryAddWithoutValidation("User-Agent", _userAgent);
        }

        foreach (var (name, value) in _request.Headers)
        {
            AddHeader(message, name, value);
        }

        return message;
    }

    /// <summary>Headers about the body, such as Content-Type, go with the body.</summary>
    private static void AddHeader(HttpRequestMessage message, string name, string value)
    {
        if (!message.Headers.TryAddWithoutValidation(name, value))
        {
            message.Content ??= new ByteArrayContent([]);
            message.Content.Headers.TryAddWithoutValidation(name, value);
        }
    }
}
