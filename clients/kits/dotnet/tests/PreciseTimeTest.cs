using System.Diagnostics;
using Xunit;

namespace Patternbench.Kit.Tests;

public sealed class PreciseTimeTest
{
    private static readonly PreciseTime Time = PreciseTime.Shared;

    private static TimeSpan Micros(double us) => TimeSpan.FromMicroseconds(us);

    [Theory]
    [InlineData(1)]
    [InlineData(300)]
    [InlineData(4_300)]
    [InlineData(16_700)]
    public async Task AWaitIsNeverEarly(int us)
    {
        foreach (var _ in Enumerable.Range(0, 20))
        {
            var began = Stopwatch.GetTimestamp();
            await Time.WaitAsync(Micros(us), default);
            Assert.True(Stopwatch.GetElapsedTime(began) >= Micros(us));
        }
    }

    [Fact]
    public async Task ADelayOfALibraryIsNeverEarly()
    {
        foreach (var _ in Enumerable.Range(0, 20))
        {
            var began = Stopwatch.GetTimestamp();
            await Task.Delay(TimeSpan.FromMilliseconds(7), Time);
            Assert.True(Stopwatch.GetElapsedTime(began) >= TimeSpan.FromMilliseconds(7));
        }
    }

    [Fact]
    public async Task ATimeOutThatIsNoWholeNumberOfMillisecondsIsNotCut()
    {
        var began = Stopwatch.GetTimestamp();
        using var late = new CancellationTokenSource(Micros(4_900), Time);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Task.Delay(Timeout.InfiniteTimeSpan, late.Token));
        Assert.True(Stopwatch.GetElapsedTime(began) >= Micros(4_900));
    }

    [Fact]
    public async Task TheEarlierOfTwoWaitsEndsFirstWhicheverBegan()
    {
        var longer = Time.WaitAsync(TimeSpan.FromSeconds(30), default).AsTask();
        var shorter = Time.WaitAsync(TimeSpan.FromMilliseconds(2), default).AsTask();
        Assert.Same(shorter, await Task.WhenAny(longer, shorter));
    }

    [Fact]
    public async Task AWaitEndsWithItsToken()
    {
        using var ended = new CancellationTokenSource();
        var waiting = Time.WaitAsync(TimeSpan.FromDays(30), ended.Token).AsTask();
        ended.Cancel();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => waiting);
    }

    [Fact]
    public async Task ATimerWithAPeriodRingsAgainUntilItIsDisposed()
    {
        var rings = new SemaphoreSlim(0);
        var timer = Time.CreateTimer(_ => rings.Release(), null, Micros(500), Micros(500));
        foreach (var _ in Enumerable.Range(0, 3))
        {
            Assert.True(await rings.WaitAsync(TimeSpan.FromSeconds(30)));
        }

        timer.Dispose();
        Assert.False(timer.Change(TimeSpan.Zero, Timeout.InfiniteTimeSpan));
    }

    [Fact]
    public async Task ATimerThatIsStoppedDoesNotRing()
    {
        var rang = 0;
        using var timer = Time.CreateTimer(_ => rang++, null, TimeSpan.FromMilliseconds(20), Timeout.InfiniteTimeSpan);
        Assert.True(timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan));
        await Time.WaitAsync(TimeSpan.FromMilliseconds(60), default);
        Assert.Equal(0, rang);
    }

    [Fact]
    public void TheClockGoesOnAsTheStopwatchDoes()
    {
        var (told, began) = (Time.GetUtcNow(), Stopwatch.GetTimestamp());
        Thread.Sleep(5);
        var passed = Time.GetUtcNow() - told;
        Assert.InRange(passed, TimeSpan.FromMilliseconds(4), Stopwatch.GetElapsedTime(began) + Micros(100));
    }
}
