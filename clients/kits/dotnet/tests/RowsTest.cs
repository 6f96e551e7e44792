using System.Text;
using System.Text.Json;
using Xunit;

namespace Patternbench.Kit.Tests;

public sealed class RowsTest
{
    [Fact]
    public void ABatchHasAColumnForEachFieldOfTheRows()
    {
        var rows = new Rows();
        rows.Add(new Row(1, 2, 3, 4, 5, 503));
        rows.Add(new Row(6, 7, 0, 8, 0, Outcomes.Rejected));
        Assert.Equal(
            """{"batch":{"user":[1,6],"call":[2,7],"attempt":[3,0],"start_us":[4,8],"duration_us":[5,0],"outcome":[503,"rejected"]}}"""
                + "\n",
            Encoding.UTF8.GetString(Rows.Lines(rows.Take())));
    }

    [Fact]
    public void WithoutRowsThereIsAnEmptyBatch() =>
        Assert.Equal(
            """{"batch":{"user":[],"call":[],"attempt":[],"start_us":[],"duration_us":[],"outcome":[]}}""" + "\n",
            Encoding.UTF8.GetString(Rows.Lines([])));

    [Fact]
    public void ABatchHasAtMostTenThousandRows()
    {
        var many = Enumerable.Repeat(new Row(0, 0, 1, 0, 0, 200), (2 * Rows.Batch) + 1).ToList();
        var lines = Encoding.UTF8.GetString(Rows.Lines(many)).TrimEnd('\n').Split('\n');
        var sizes = lines.Select(line =>
            JsonDocument.Parse(line).RootElement.GetProperty("batch").GetProperty("user").GetArrayLength());
        Assert.Equal([Rows.Batch, Rows.Batch, 1], sizes);
    }

    [Fact]
    public async Task RowsOfManyUsersAreTakenOnceEach()
    {
        var rows = new Rows();
        var users = Enumerable.Range(0, 8).Select(user => Task.Run(() =>
        {
            for (var call = 0; call < 1000; call++)
            {
                rows.Add(new Row(user, call, 1, 0, 0, 200));
            }
        })).ToList();
        var seen = new HashSet<(long, long)>();
        while (!users.TrueForAll(user => user.IsCompleted))
        {
            Assert.All(rows.Take(), row => Assert.True(seen.Add((row.User, row.Call))));
        }

        await Task.WhenAll(users);
        Assert.All(rows.Take(), row => Assert.True(seen.Add((row.User, row.Call))));
        Assert.Equal((8000, 8000L), (seen.Count, rows.Taken));
    }
}
