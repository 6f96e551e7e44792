using System.Diagnostics;

namespace Patternbench.Kit;

/// <summary>A clock that never steps, for libraries that measure their waits with the time of day.</summary>
public sealed class MonotonicTime : TimeProvider
{
    private readonly DateTimeOffset _origin = DateTimeOffset.UtcNow;
    private readonly long _started = Stopwatch.GetTimestamp();

    /// <inheritdoc/>
    public override DateTimeOffset GetUtcNow() => _origin + Stopwatch.GetElapsedTime(_started);
}

/// <summary>The time since a round's start.</summary>
internal sealed class RoundClock
{
    private long _started = Stopwatch.GetTimestamp();

    /// <summary>Begins again at zero.</summary>
    internal void Start() => _started = Stopwatch.GetTimestamp();

    internal long ElapsedUs() => (long)Stopwatch.GetElapsedTime(_started).TotalMicroseconds;
}
