namespace Patternbench.Kit;

/// <summary>One round, as the contract describes it; times in microseconds.</summary>
/// <param name="Contract">the version of the contract</param>
/// <param name="Target">scheme, host and port</param>
/// <param name="Request">the request of every attempt</param>
/// <param name="Users">how many virtual users there are</param>
/// <param name="ThinkTimeUs">the pause between two calls of a user</param>
/// <param name="Successes">successful calls after which a user stops; null for no such limit</param>
/// <param name="MaxAttempts">attempts after which a user begins no further call; null for no such limit</param>
/// <param name="RejectedPauseUs">the pause after a rejected call</param>
/// <param name="TimeLimitUs">when the round ends</param>
/// <param name="Seed">of whatever the library lets a client seed</param>
/// <param name="Strategy">what a user does around an attempt</param>
public sealed record Round(
    int Contract,
    string Target,
    Request Request,
    int Users,
    long ThinkTimeUs,
    long? Successes,
    long? MaxAttempts,
    long RejectedPauseUs,
    long TimeLimitUs,
    ulong Seed,
    Strategy Strategy)
{
    /// <summary>The version of the client contract that this kit speaks.</summary>
    public const int Version = 1;
}

/// <summary>The request of every attempt; <c>Body</c> is null for none.</summary>
public sealed record Request(
    string Method, string Path, IReadOnlyDictionary<string, string> Headers, string? Body, long TimeoutUs);

/// <summary>What a user does around an attempt: its name, and its policies, the outermost first.</summary>
public sealed record Strategy(string Kind, IReadOnlyList<IPolicy> Policies);

/// <summary>One policy, alone or in a stack.</summary>
public interface IPolicy
{
    /// <summary>Its name in the contract.</summary>
    string Kind { get; }

    /// <summary>Whether all users share it; else each has its own.</summary>
    bool Shared { get; }
}

/// <summary>Ends what it guards after a time.</summary>
public sealed record TimeoutPolicy(long AfterUs) : IPolicy
{
    /// <inheritdoc/>
    public string Kind => "timeout";

    /// <inheritdoc/>
    public bool Shared => true;
}

/// <summary>Tries again after a failure.</summary>
/// <param name="MaxAttempts">of one call, the first included</param>
/// <param name="Backoff">how long it waits</param>
/// <param name="Jitter">how a delay is spread</param>
/// <param name="On">the failures that are tried again; null for all</param>
/// <param name="RetryAfterMaxUs">the longest Retry-After that is heeded; 0 for none</param>
public sealed record Retry(
    int MaxAttempts,
    Backoff Backoff,
    Jitter Jitter,
    IReadOnlyList<Failure>? On = null,
    long RetryAfterMaxUs = 0) : IPolicy
{
    /// <inheritdoc/>
    public string Kind => "retry";

    /// <inheritdoc/>
    public bool Shared => true;

    /// <summary>Whether an attempt with this outcome is tried again; a rejection never is.</summary>
    public bool IsRetried(int outcome) =>
        !Outcomes.IsSuccess(outcome)
        && outcome != Outcomes.Rejected
        && (On is null || On.Any(failure => Outcomes.IsIn(outcome, failure.Name)));
}

/// <summary>A failure that a retry names, as 503, 500-599 or timeout.</summary>
public readonly record struct Failure(string Name);

/// <summary>A circuit breaker; rates in percent, <c>Scope</c> is client or user.</summary>
public sealed record CircuitBreaker(
    double FailureRate,
    SlowCall? SlowCall,
    Window Window,
    long MinimumCalls,
    long OpenForUs,
    long HalfOpenCalls,
    string Scope) : IPolicy
{
    /// <inheritdoc/>
    public string Kind => "circuit_breaker";

    /// <inheritdoc/>
    public bool Shared => Scope == "client";
}

/// <summary>When a call counts as slow, and the share of such calls that opens the breaker.</summary>
public sealed record SlowCall(double Rate, long DurationUs);

/// <summary>The results that a closed breaker looks at: one of the two is null.</summary>
public sealed record Window(long? Calls = null, long? TimeUs = null);

/// <summary>Lets <c>MaxConcurrent</c> calls in at once; <c>MaxWaitUs</c> is null for an unbounded wait.</summary>
public sealed record Bulkhead(long MaxConcurrent, long MaxWaiting, string Scope, long? MaxWaitUs = null) : IPolicy
{
    /// <inheritdoc/>
    public string Kind => "bulkhead";

    /// <inheritdoc/>
    public bool Shared => Scope == "client";
}

/// <summary>A policy that no client of this kit has.</summary>
internal sealed record ForeignPolicy(string Kind) : IPolicy
{
    /// <inheritdoc/>
    public bool Shared => true;
}

/// <summary>How the delay grows from attempt to attempt: one of the three is not null.</summary>
public sealed record Backoff(Fixed? Fixed = null, Linear? Linear = null, Exponential? Exponential = null)
{
    /// <summary>The delay in microseconds after this many failed attempts (at least 1), before jitter.</summary>
    public double DelayUs(int failedAttempts)
    {
        var steps = failedAttempts - 1.0;
        return this switch
        {
            { Fixed: { } it } => it.DelayUs,
            { Linear: { } it } => Capped(it.InitialUs + (steps * it.IncrementUs), it.MaxUs),
            { Exponential: { InitialUs: > 0 } it } => Capped(it.InitialUs * Math.Pow(it.Multiplier, steps), it.MaxUs),
            _ => 0,
        };
    }

    private static double Capped(double delayUs, long? maxUs) => maxUs is { } most ? Math.Min(delayUs, most) : delayUs;
}

/// <summary>Always the same delay.</summary>
public sealed record Fixed(long DelayUs);

/// <summary>The same increment every time.</summary>
public sealed record Linear(long InitialUs, long IncrementUs, long? MaxUs = null);

/// <summary>The same factor every time.</summary>
public sealed record Exponential(long InitialUs, double Multiplier, long? MaxUs = null);

/// <summary>
/// How a delay is spread. The <c>Kind</c>: none, full, equal, or share with how far it goes to either side, 0 to 1.
/// </summary>
public readonly record struct Jitter(string Kind, double Share = 0)
{
    /// <summary>No spread.</summary>
    public static readonly Jitter None = new("none");
}
