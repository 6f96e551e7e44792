namespace Patternbench.Kit;

/// <summary>One thing that is wrong with a round, or that the library cannot express.</summary>
/// <param name="Path">where in the round, as strategy.retry.jitter</param>
/// <param name="Value">what stands there; null when nothing does</param>
/// <param name="Message">what is wrong with it</param>
/// <param name="Allowed">what may stand there; null when nothing may</param>
public sealed record Problem(string Path, object? Value, string Message, string? Allowed);

/// <summary>The problems of a round, noted one after another; paths are those of the round.</summary>
public sealed class Problems
{
    private const long MillisecondUs = 1_000;

    private readonly List<Problem> _noted;
    private readonly string _library;
    private readonly string _under;

    /// <summary>Begins with none; <c>library</c> is the name that its messages use.</summary>
    public Problems(string library)
        : this([], library, "")
    {
    }

    private Problems(List<Problem> noted, string library, string under) =>
        (_noted, _library, _under) = (noted, library, under);

    /// <summary>All that were noted.</summary>
    public IReadOnlyList<Problem> All => _noted;

    /// <summary>The same list, for paths under a prefix, as <c>strategy.retry.</c>.</summary>
    internal Problems Under(string prefix) => new(_noted, _library, _under + prefix);

    /// <summary>Notes that the library cannot express what stands at a path; an empty one is all of it.</summary>
    public void Refuse(string path, object? value, string message, string? allowed) =>
        _noted.Add(new Problem((_under + path).TrimEnd('.'), value, message, allowed));

    /// <summary>Refuses a value above a largest one; null is fine.</summary>
    public void AtMost(string path, long? value, long most, string why)
    {
        if (value > most)
        {
            Refuse(path, value, why, $"at most {most}");
        }
    }

    /// <summary>Refuses a value below a smallest one; null is fine.</summary>
    public void AtLeast(string path, long? value, long least, string why)
    {
        if (value < least)
        {
            Refuse(path, value, why, $"at least {least}");
        }
    }

    /// <summary>Refuses a time that the library, which counts milliseconds, would cut; null is fine.</summary>
    public void Milliseconds(string path, long? timeUs)
    {
        if (timeUs % MillisecondUs is > 0)
        {
            var next = ((timeUs / MillisecondUs) + 1) * MillisecondUs;
            var allowed = $"a multiple of {MillisecondUs}, for instance {next}";
            Refuse(path, timeUs, $"{_library} counts this time in whole milliseconds", allowed);
        }
    }

    /// <summary>Refuses to heed Retry-After, which no client of this kit reads.</summary>
    public void RetryAfter(Retry retry) =>
        AtMost("retry_after_max_us", retry.RetryAfterMaxUs, 0, "this client does not read Retry-After");

    /// <summary>Refuses slow calls, which the library does not count.</summary>
    public void SlowCalls(CircuitBreaker breaker)
    {
        if (breaker.SlowCall is { } slow)
        {
            Refuse("slow_call", slow.Rate, $"{_library}'s breaker does not count slow calls", "null");
        }
    }

    /// <summary>
    /// Refuses a share that a success could reach, for libraries that look after a failure only: that can be when the
    /// success is the last of minimum_calls results, and enough of the others have failed.
    /// </summary>
    public void ShareThatASuccessCouldReach(CircuitBreaker breaker)
    {
        var most = 100.0 * (breaker.MinimumCalls - 1) / breaker.MinimumCalls;
        if (breaker.FailureRate <= most)
        {
            var why = $"{_library} looks at the share after a failure only, where the contract's breaker may open at the"
                + " success that is the last of minimum_calls";
            Refuse("failure_rate", breaker.FailureRate, why, FormattableString.Invariant($"above {most:0.###}"));
        }
    }
}
