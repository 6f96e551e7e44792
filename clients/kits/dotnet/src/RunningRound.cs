using System.Diagnostics;

namespace Patternbench.Kit;

/// <summary>A round under way: its users, and the rows that they leave.</summary>
internal sealed class RunningRound : IAsyncDisposable
{
    private readonly CancellationTokenSource _ending;
    private readonly RoundClock _clock = new();
    private readonly TaskCompletionSource _go = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<Connection> _connections = [];
    private readonly object _turn = new();
    private readonly TimeSpan _cpuAtStart;

    /// <summary>Gets every user ready, then lets all of them begin at the same moment.</summary>
    internal RunningRound(Round round, IAdapter adapter, CancellationToken abandoned)
    {
        _ending = CancellationTokenSource.CreateLinkedTokenSource(abandoned);
        var guards = new Guards(round, adapter, PreciseTime.Shared);
        var userAgent = $"patternbench-client-{adapter.Description.Name}/{Description.Version}";
        var users = new List<Task>();
        for (var number = 0; number < round.Users; number++)
        {
            var connection = new Connection(round, userAgent);
            _connections.Add(connection);
            users.Add(RunToEndAsync(new User(number, round, guards, connection, Rows, _clock)));
        }

        _cpuAtStart = Cpu();
        _clock.Start();
        _go.SetResult();
        Ended = Task.WhenAll(users);
    }

    internal Rows Rows { get; } = new();

    /// <summary>Ends when the last user has ended; it never fails.</summary>
    internal Task Ended { get; }

    /// <summary>What kept a user from going on; null when nothing did.</summary>
    internal Exception? Defect { get; private set; }

    /// <summary>From the start to the end of the last user.</summary>
    internal long DurationUs { get; private set; }

    /// <summary>The time that this process has spent computing from the start to the end of the last user.</summary>
    internal long CpuUs { get; private set; }

    /// <summary>Ends the round, finished or not, and waits until none of its users is left.</summary>
    public async ValueTask DisposeAsync()
    {
        await _ending.CancelAsync().ConfigureAwait(false);
        await Ended.ConfigureAwait(false);
        _connections.ForEach(connection => connection.Dispose());
        _ending.Dispose();
    }

    private async Task RunToEndAsync(User user)
    {
        await _go.Task.ConfigureAwait(false);
        try
        {
            await user.RunAsync(_ending.Token).ConfigureAwait(false);
        }
        catch (Exception e)
        {
            // Calls that still wait in a library when the round is over end with an exception.
            await NoteAsync(_ending.IsCancellationRequested ? null : e).ConfigureAwait(false);
            return;
        }

        await NoteAsync(null).ConfigureAwait(false);
    }

    /// <summary>Notes the end of a user. The first one that cannot go on ends the round.</summary>
    private async Task NoteAsync(Exception? defect)
    {
        lock (_turn)
        {
            DurationUs = Math.Max(DurationUs, _clock.ElapsedUs());
            CpuUs = (long)(Cpu() - _cpuAtStart).TotalMicroseconds;
            Defect ??= defect;
        }

        if (defect is not null)
        {
            await _ending.CancelAsync().ConfigureAwait(false);
        }
    }

    private static TimeSpan Cpu()
    {
        using var itself = Process.GetCurrentProcess();
        return itself.TotalProcessorTime;
    }
}
