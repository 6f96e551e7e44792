namespace Patternbench.Kit;

/// <summary>What a client has that is special about its library; the kit does the rest.</summary>
public interface IAdapter
{
    /// <summary>Who this client is.</summary>
    Description Description { get; }

    /// <summary>
    /// Says what of a policy the library cannot do exactly: by name, never rounded or clamped. It is asked about the
    /// policies of the description alone.
    /// </summary>
    void Refuse(Entry entry, Problems problems);

    /// <summary>
    /// A new policy of the library, with every parameter set. The kit asks once for each round, or once for each user,
    /// as the policy's scope says.
    /// </summary>
    /// <param name="policy">the policy</param>
    /// <param name="time">a clock that never steps</param>
    /// <param name="random">numbers from 0 to 1 from the round's seed, safe for many users at once</param>
    Guard Guard(IPolicy policy, TimeProvider time, Func<double> random);
}

/// <summary>A policy where it stands in a round.</summary>
/// <param name="Policy">the policy</param>
/// <param name="Guarded">the policies further in, the outermost first</param>
/// <param name="Users">how many virtual users there are</param>
public sealed record Entry(IPolicy Policy, IReadOnlyList<IPolicy> Guarded, int Users);

/// <summary>
/// Makes one call, or the one attempt of a call where no policy stands further in; gives its outcome, which is
/// <see cref="Outcomes.Rejected"/> when a policy has let nothing through.
/// </summary>
/// <exception cref="OperationCanceledException">when its time was over before anything was sent</exception>
public delegate ValueTask<int> Call(CancellationToken ended);

/// <summary>
/// A policy of a library around the call that it guards: gives the outcome once the policy has decided. It hands its
/// token on to the guarded call, or one that is cancelled earlier.
/// </summary>
public delegate ValueTask<int> Guard(Call guarded, CancellationToken ended);

/// <summary>The guards of one round: those that all users share, and new ones for each user.</summary>
internal sealed class Guards
{
    private readonly List<Func<Guard>> _makers = [];

    internal Guards(Round round, IAdapter adapter, TimeProvider time)
    {
        var random = SharedRandom(round.Seed);
        foreach (var policy in round.Strategy.Policies)
        {
            Guard Fresh() => adapter.Guard(policy, time, random);
            _makers.Add(policy.Shared ? Always(Fresh()) : Fresh);
        }
    }

    /// <summary>The calls of one user: its own guards around its attempt, the first one outermost.</summary>
    internal Call Around(Call attempt)
    {
        var call = attempt;
        foreach (var make in Enumerable.Reverse(_makers))
        {
            var (outer, inner) = (make(), call);
            call = ended => outer(inner, ended);
        }

        return call;
    }

    private static Func<Guard> Always(Guard shared) => () => shared;

    private static Func<double> SharedRandom(ulong seed)
    {
        var (source, turn) = (new Random((int)(seed % int.MaxValue)), new object());
        return () =>
        {
            lock (turn)
            {
                return source.NextDouble();
            }
        };
    }
}
