namespace Patternbench.Kit;

/// <summary>Says what of a round the kit cannot do, then asks the adapter what its library cannot.</summary>
internal static class Expressible
{
    private const string Lacking = "this client does not have it";

    private static readonly HashSet<string> OwnHeaders =
        new(["connection", "content-length", "host", "transfer-encoding"], StringComparer.OrdinalIgnoreCase);

    internal static IReadOnlyList<Problem> Problems(Round round, IAdapter adapter)
    {
        var problems = new Problems(adapter.Description.Library);
        foreach (var (name, value) in round.Request.Headers.Where(header => OwnHeaders.Contains(header.Key)))
        {
            problems.Refuse($"request.headers.{name}", value, "this client sets the header itself", null);
        }

        var strategies = adapter.Description.Strategies;
        if (strategies.Contains(round.Strategy.Kind))
        {
            Policies(round, adapter, problems);
        }
        else
        {
            problems.Refuse("strategy", round.Strategy.Kind, Lacking, string.Join(", ", strategies));
        }

        return problems.All;
    }

    private static void Policies(Round round, IAdapter adapter, Problems problems)
    {
        var (policies, available) = (round.Strategy.Policies, adapter.Description.Policies);
        for (var i = 0; i < policies.Count; i++)
        {
            var below = problems.Under(PathOf(round.Strategy, i));
            if (available.Contains(policies[i].Kind))
            {
                adapter.Refuse(new Entry(policies[i], policies.Skip(i + 1).ToList(), round.Users), below);
            }
            else
            {
                var why = adapter.Description.WhyNot?.GetValueOrDefault(policies[i].Kind) ?? Lacking;
                below.Refuse("", null, why, string.Join(", ", available));
            }
        }
    }

    /// <summary>Where a policy stands in a round.</summary>
    private static string PathOf(Strategy strategy, int index)
    {
        var kind = strategy.Policies[index].Kind;
        return strategy.Kind == "stack" ? $"strategy.stack[{index}].{kind}." : $"strategy.{kind}.";
    }
}
