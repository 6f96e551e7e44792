using System.Diagnostics;

namespace Patternbench.Kit;

/// <summary>The time since a round's start.</summary>
internal sealed class RoundClock
{
    private long _started = Stopwatch.GetTimestamp();

    /// <summary>Begins again at zero.</summary>
    internal void Start() => _started = Stopwatch.GetTimestamp();

    internal long ElapsedUs() => (long)Stopwatch.GetElapsedTime(_started).TotalMicroseconds;
}
