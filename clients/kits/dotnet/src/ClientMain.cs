using System.Globalization;
using System.Net.Sockets;
using System.Text.Json;

namespace Patternbench.Kit;

/// <summary>Starts a client, and says where it listens: what the main method of an adapter calls.</summary>
public static class ClientMain
{
    /// <summary>Serves the contract until the process is told to end; gives its exit code.</summary>
    public static async Task<int> RunAsync(IAdapter adapter, string[] arguments)
    {
        if (PortOf(arguments) is not { } port)
        {
            return Fail($"cannot read \"{string.Join(' ', arguments)}\"; allowed: --port PORT, from 0 to 65535");
        }

        try
        {
            var server = await ContractServer.StartAsync(port, adapter).ConfigureAwait(false);
            await using (server.ConfigureAwait(false))
            {
                await WarmUp.AgainstAsync(server.Address, adapter).ConfigureAwait(false);
                Console.WriteLine(JsonSerializer.Serialize(new { listening = server.Address }));
                await server.WaitAsync().ConfigureAwait(false);
                return 0;
            }
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            return Fail($"cannot listen on port {port}: {e.Message}; --port 0 takes a free one");
        }
    }

    /// <summary>The port of <c>--port PORT</c>, 0 without it; null for anything else.</summary>
    internal static int? PortOf(string[] arguments) => arguments switch
    {
        [] => 0,
        ["--port", var text] when ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var port) =>
            port,
        _ => null,
    };

    private static int Fail(string message)
    {
        Console.Error.WriteLine($"error: {message}");
        return 2;
    }
}
