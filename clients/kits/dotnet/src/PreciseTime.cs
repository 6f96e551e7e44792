using System.Diagnostics;

namespace Patternbench.Kit;

/// <summary>
/// The one clock of a client: it never steps, and its timers are never early and less than a millisecond late.
/// </summary>
/// <remarks>
/// The system's own timers count the ticks of a coarse clock: they are some milliseconds early or late. These wait on
/// a thread of their own, which the kernel wakes to the microsecond; their callbacks run in the thread pool.
/// </remarks>
public sealed class PreciseTime : TimeProvider
{
    /// <summary>The clock that all of a process goes by.</summary>
    public static readonly PreciseTime Shared = new();

    private readonly DateTimeOffset _origin = DateTimeOffset.UtcNow;
    private readonly long _started = Stopwatch.GetTimestamp();
    private readonly object _turn = new();
    private readonly SortedSet<Alarm> _due = new(Alarm.EarliestFirst);
    private readonly Sleeper _sleeper = new();
    private long _sleepsUntil;
    private long _made;

    private PreciseTime() => new Thread(Keep) { IsBackground = true, Name = "time" }.Start();

    /// <inheritdoc/>
    public override DateTimeOffset GetUtcNow() => _origin + Stopwatch.GetElapsedTime(_started);

    /// <inheritdoc/>
    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var alarm = new Alarm(this, Interlocked.Increment(ref _made), () => ThreadPool.UnsafeQueueUserWorkItem(
            static it => it.callback(it.state), (callback, state), preferLocal: false));
        alarm.Change(dueTime, period);
        return alarm;
    }

    /// <summary>Waits as long, never less, unless the token is cancelled.</summary>
    /// <exception cref="OperationCanceledException">when the token is cancelled</exception>
    internal async ValueTask WaitAsync(TimeSpan time, CancellationToken ended)
    {
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        using var alarm = new Alarm(this, Interlocked.Increment(ref _made), () => over.TrySetResult());
        using var cancelled = ended.UnsafeRegister((_, token) => over.TrySetCanceled(token), null);
        alarm.Change(time, Timeout.InfiniteTimeSpan);
        await over.Task.ConfigureAwait(false);
    }

    /// <summary>What the thread does: sleeps until the earliest alarm, and rings those that are due.</summary>
    private void Keep()
    {
        _sleeper.Begin();
        while (true)
        {
            _sleeper.Sleep(RingThoseDue());
        }
    }

    /// <summary>Rings what is due, and gives the ticks until the next; a negative number is never.</summary>
    private long RingThoseDue()
    {
        lock (_turn)
        {
            var now = Stopwatch.GetTimestamp();
            while (_due.Min is { } first && first.Due <= now)
            {
                _due.Remove(first);
                first.Ring();
            }

            _sleepsUntil = _due.Min?.Due ?? long.MaxValue;
            return _due.Min is { } next ? next.Due - now : -1;
        }
    }

    private sealed class Alarm(PreciseTime time, long number, Action ring) : ITimer
    {
        internal static readonly Comparer<Alarm> EarliestFirst = Comparer<Alarm>.Create(
            (one, other) => (one.Due, one._number).CompareTo((other.Due, other._number)));

        private readonly long _number = number;
        private TimeSpan _period;
        private bool _disposed;

        /// <summary>The timestamp at which it rings; it is changed only while nobody keeps it.</summary>
        internal long Due { get; private set; }

        /// <summary>Calls back, which takes no time; with a period it is set again.</summary>
        internal void Ring()
        {
            if (_period > TimeSpan.Zero)
            {
                Due += TicksOf(_period);
                time._due.Add(this);
            }

            ring();
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            var due = Stopwatch.GetTimestamp() + TicksOf(dueTime);
            lock (time._turn)
            {
                time._due.Remove(this);
                if (_disposed || dueTime < TimeSpan.Zero)
                {
                    return !_disposed;
                }

                (Due, _period) = (due, period);
                time._due.Add(this);
                if (due < time._sleepsUntil)
                {
                    time._sleepsUntil = due;
                    time._sleeper.Wake();
                }

                return true;
            }
        }

        public void Dispose()
        {
            lock (time._turn)
            {
                _disposed = true;
                time._due.Remove(this);
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }

        /// <summary>In ticks of the clock, rounded up; one that no round lasts is cut, so that sums stay numbers.</summary>
        private static long TicksOf(TimeSpan time) =>
            (long)Math.Ceiling(Math.Min(time.TotalSeconds, int.MaxValue) * Stopwatch.Frequency);
    }
}
