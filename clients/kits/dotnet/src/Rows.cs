using System.Text.Json;

namespace Patternbench.Kit;

/// <summary>One attempt, or a rejected call with attempt 0; times in microseconds.</summary>
internal readonly record struct Row(long User, long Call, long Attempt, long StartUs, long DurationUs, int Outcome);

/// <summary>Rows on their way from the users to the stream; safe for many threads.</summary>
internal sealed class Rows
{
    /// <summary>The most rows of one batch.</summary>
    internal const int Batch = 10_000;

    private static readonly (string Name, Action<Utf8JsonWriter, Row> Write)[] Columns =
    [
        ("user", (json, row) => json.WriteNumberValue(row.User)),
        ("call", (json, row) => json.WriteNumberValue(row.Call)),
        ("attempt", (json, row) => json.WriteNumberValue(row.Attempt)),
        ("start_us", (json, row) => json.WriteNumberValue(row.StartUs)),
        ("duration_us", (json, row) => json.WriteNumberValue(row.DurationUs)),
        ("outcome", WriteOutcome),
    ];

    private readonly object _turn = new();
    private List<Row> _waiting = [];

    /// <summary>How many rows have been taken so far.</summary>
    internal long Taken { get; private set; }

    internal void Add(Row row)
    {
        lock (_turn)
        {
            _waiting.Add(row);
        }
    }

    /// <summary>Takes what has come in since the last time.</summary>
    internal List<Row> Take()
    {
        lock (_turn)
        {
            var came = _waiting;
            _waiting = [];
            Taken += came.Count;
            return came;
        }
    }

    /// <summary>One line of the stream for at most <see cref="Batch"/> rows each; an empty one where none came.</summary>
    internal static byte[] Lines(List<Row> came)
    {
        using var lines = new MemoryStream();
        var first = 0;
        do
        {
            WriteLine(lines, came, first, Math.Min(came.Count, first + Batch));
            first += Batch;
        }
        while (first < came.Count);

        return lines.ToArray();
    }

    private static void WriteLine(MemoryStream lines, List<Row> came, int first, int end)
    {
        using (var json = new Utf8JsonWriter(lines))
        {
            json.WriteStartObject();
            json.WriteStartObject("batch");
            foreach (var (name, write) in Columns)
            {
                json.WriteStartArray(name);
                for (var i = first; i < end; i++)
                {
                    write(json, came[i]);
                }

                json.WriteEndArray();
            }

            json.WriteEndObject();
            json.WriteEndObject();
        }

        lines.WriteByte((byte)'\n');
    }

    private static void WriteOutcome(Utf8JsonWriter json, Row row)
    {
        if (row.Outcome < 0)
        {
            json.WriteStringValue(Outcomes.Name(row.Outcome));
        }
        else
        {
            json.WriteNumberValue(row.Outcome);
        }
    }
}
