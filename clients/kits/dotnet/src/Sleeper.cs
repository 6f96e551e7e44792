using System.ComponentModel;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Patternbench.Kit;

/// <summary>Sleeps to the nanosecond, as far as Linux can, and can be woken; for one thread.</summary>
internal sealed class Sleeper
{
    private const int SetTimerSlack = 29;
    private const int NonBlocking = 0x800;
    private const int CloseOnExec = 0x80000;
    private const short Readable = 1;

    private readonly int _bell = eventfd(0, NonBlocking | CloseOnExec);

    internal Sleeper()
    {
        if (_bell < 0)
        {
            throw new Win32Exception();
        }
    }

    /// <summary>Makes the thread that calls it precise. The kernel may refuse, and sleeps then last 50 us longer.</summary>
    internal void Begin() => _ = prctl(SetTimerSlack, 1, 0, 0, 0);

    /// <summary>Sleeps for this many ticks of the stopwatch, without end for a negative number, or until it is woken.</summary>
    internal void Sleep(long ticks)
    {
        var bell = new Poll { Descriptor = _bell, Events = Readable };
        var time = Timespec.Of(ticks);
        var woken = ticks < 0 ? ppoll(ref bell, 1, 0, 0) : ppoll(ref bell, 1, ref time, 0);
        if (woken > 0)
        {
            _ = read(_bell, out _, sizeof(ulong));
        }
    }

    /// <summary>Ends the sleep under way, or the next one.</summary>
    internal void Wake()
    {
        var once = 1UL;
        _ = write(_bell, ref once, sizeof(ulong));
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct Poll
    {
        internal int Descriptor;
        internal short Events;
        internal short Returned;
    }

    [StructLayout(LayoutKind.Sequential)]
    private readonly record struct Timespec(nint Seconds, nint Nanoseconds)
    {
        internal static Timespec Of(long ticks)
        {
            var (seconds, rest) = Math.DivRem(ticks, Stopwatch.Frequency);
            return new Timespec((nint)seconds, (nint)(rest * 1_000_000_000 / Stopwatch.Frequency));
        }
    }

    // The system's own names.
    [DllImport("libc", SetLastError = true)]
    private static extern int eventfd(uint value, int flags);

    [DllImport("libc")]
    private static extern int prctl(int option, nuint one, nuint two, nuint three, nuint four);

    [DllImport("libc")]
    private static extern int ppoll(ref Poll polls, nuint count, ref Timespec time, nint mask);

    [DllImport("libc")]
    private static extern int ppoll(ref Poll polls, nuint count, nint forEver, nint mask);

    [DllImport("libc")]
    private static extern nint read(int descriptor, out ulong value, nuint size);

    [DllImport("libc")]
    private static extern nint write(int descriptor, ref ulong value, nuint size);
}
