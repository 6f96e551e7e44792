using System.Text.Json;
using System.Text.Json.Serialization;

namespace Patternbench.Kit;

/// <summary>
/// Turns the body of a request into a round that this client can run, or says why it isn't one. patternbench sends what
/// the contract's schema allows. What does not fit the records is therefore another version of the contract.
/// </summary>
internal static class RoundReader
{
    private static readonly JsonSerializerOptions Strict = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.SnakeCaseLower,
        UnmappedMemberHandling = JsonUnmappedMemberHandling.Disallow,
        Converters = { new StrategyConverter(), new JitterConverter(), new FailureConverter() },
    };

    /// <summary>The round, which is null when there are problems.</summary>
    internal static (Round? Round, IReadOnlyList<Problem> Problems) Read(ReadOnlySpan<byte> body, IAdapter adapter)
    {
        try
        {
            var round = JsonSerializer.Deserialize<Round>(body, Strict);
            if (round is not { Contract: Round.Version })
            {
                return Refused("contract", round?.Contract, "is another version of the contract", "1");
            }

            if (round is { Target: null } or { Request: null or { Headers: null } } or { Strategy: null })
            {
                return Refused("", null, "lacks its target, its request or its strategy", null);
            }

            var problems = Expressible.Problems(round, adapter);
            return (problems.Count == 0 ? round : null, problems);
        }
        catch (JsonException e)
        {
            return Refused("", null, $"is not as the contract has it: {e.Message}", null);
        }
    }

    /// <summary>A policy or a back-off as the contract writes it.</summary>
    internal static T Parsed<T>(JsonElement json) =>
        json.Deserialize<T>(Strict) ?? throw new JsonException("null where a value is due");

    private static (Round? Round, IReadOnlyList<Problem> Problems) Refused(
        string path, object? value, string message, string? allowed) =>
        (null, [new Problem(path, value, message, allowed)]);

    private static (string Kind, JsonElement Config) Only(JsonElement json)
    {
        if (json.ValueKind != JsonValueKind.Object || json.EnumerateObject().Count() != 1)
        {
            throw new JsonException("an object with one field is due");
        }

        var field = json.EnumerateObject().Single();
        return (field.Name, field.Value);
    }

    private static IPolicy PolicyOf(JsonElement json)
    {
        var (kind, config) = Only(json);
        return kind switch
        {
            "timeout" => Parsed<TimeoutPolicy>(config),
            "retry" => Parsed<Retry>(config),
            "circuit_breaker" => Parsed<CircuitBreaker>(config),
            "bulkhead" => Parsed<Bulkhead>(config),
            _ => new ForeignPolicy(kind),
        };
    }

    private static Strategy StrategyOf(JsonElement json)
    {
        var (kind, config) = Only(json);
        return kind switch
        {
            "baseline" when config.ValueKind == JsonValueKind.Object && !config.EnumerateObject().Any() =>
                new Strategy(kind, []),
            "baseline" => throw new JsonException("a baseline has no fields"),
            "stack" when config.ValueKind == JsonValueKind.Array =>
                new Strategy(kind, config.EnumerateArray().Select(PolicyOf).ToList()),
            "stack" => throw new JsonException("a stack is a list"),
            _ => new Strategy(kind, [PolicyOf(json)]),
        };
    }

    /// <summary>An object with one field.</summary>
    private sealed class StrategyConverter : JsonConverter<Strategy>
    {
        public override Strategy Read(ref Utf8JsonReader reader, Type type, JsonSerializerOptions options)
        {
            using var json = JsonDocument.ParseValue(ref reader);
            return StrategyOf(json.RootElement);
        }

        public override void Write(Utf8JsonWriter writer, Strategy value, JsonSerializerOptions options) =>
            throw new NotSupportedException("a strategy is read only");
    }

    /// <summary>A name, or a share.</summary>
    private sealed class JitterConverter : JsonConverter<Jitter>
    {
        public override Jitter Read(ref Utf8JsonReader reader, Type type, JsonSerializerOptions options) =>
            reader.TokenType == JsonTokenType.Number
                ? new Jitter("share", reader.GetDouble())
                : new Jitter(Text(ref reader));

        public override void Write(Utf8JsonWriter writer, Jitter value, JsonSerializerOptions options) =>
            throw new NotSupportedException("a jitter is read only");
    }

    /// <summary>A status, a range of them, or a name.</summary>
    private sealed class FailureConverter : JsonConverter<Failure>
    {
        public override Failure Read(ref Utf8JsonReader reader, Type type, JsonSerializerOptions options) =>
            new(reader.TokenType == JsonTokenType.Number ? $"{reader.GetInt32()}" : Text(ref reader));

        public override void Write(Utf8JsonWriter writer, Failure value, JsonSerializerOptions options) =>
            throw new NotSupportedException("a failure is read only");
    }

    private static string Text(ref Utf8JsonReader reader) =>
        reader.TokenType == JsonTokenType.String && reader.GetString() is { Length: > 0 } text
            ? text
            : throw new JsonException("a name is due");
}
