namespace Patternbench.Kit;

/// <summary>One virtual user: calls one after another until it has enough.</summary>
internal sealed class User
{
    private readonly int _number;
    private readonly Round _round;
    private readonly Call _call;
    private readonly Connection _connection;
    private readonly Rows _rows;
    private readonly RoundClock _clock;
    private long _calls;
    private long _successes;
    private long _attempts;
    private long _attemptsOfCall;
    private int _last;

    internal User(int number, Round round, Guards guards, Connection connection, Rows rows, RoundClock clock)
    {
        (_number, _round, _connection, _rows, _clock) = (number, round, connection, rows, clock);
        _call = guards.Around(AttemptAsync);
    }

    /// <summary>Calls until there is enough; an exception is a defect of the adapter, unless the round was ended.</summary>
    internal async Task RunAsync(CancellationToken ended)
    {
        while (!HasEnough(ended))
        {
            await CallAsync(ended).ConfigureAwait(false);
            if (_attemptsOfCall == 0)
            {
                await PauseAsync(_round.RejectedPauseUs, ended).ConfigureAwait(false);
            }

            if (!HasEnough(ended))
            {
                await PauseAsync(_round.ThinkTimeUs, ended).ConfigureAwait(false);
            }
        }
    }

    /// <summary>
    /// One call through the policies. It ends with its last attempt, whatever a policy made of that; one without an
    /// attempt was rejected, or its time was over while it waited.
    /// </summary>
    private async ValueTask CallAsync(CancellationToken ended)
    {
        _attemptsOfCall = 0;
        await _call(ended).ConfigureAwait(false);
        if (_attemptsOfCall == 0)
        {
            _rows.Add(new Row(_number, _calls, 0, _clock.ElapsedUs(), 0, Outcomes.Rejected));
        }
        else if (Outcomes.IsSuccess(_last))
        {
            _successes++;
        }

        _calls++;
    }

    /// <summary>One try on the wire, whichever policy asked for it; none is made whose time is over.</summary>
    private async ValueTask<int> AttemptAsync(CancellationToken ended)
    {
        ended.ThrowIfCancellationRequested();
        _attempts++;
        _attemptsOfCall++;
        var start = _clock.ElapsedUs();
        _last = await _connection.SendAsync(ended).ConfigureAwait(false);
        _rows.Add(new Row(_number, _calls, _attemptsOfCall, start, _clock.ElapsedUs() - start, _last));
        return _last;
    }

    private bool HasEnough(CancellationToken ended) =>
        ended.IsCancellationRequested
        || _successes >= _round.Successes
        || _attempts >= _round.MaxAttempts
        || _clock.ElapsedUs() >= _round.TimeLimitUs;

    /// <summary>Waits, though not beyond the round's end.</summary>
    private async ValueTask PauseAsync(long pauseUs, CancellationToken ended)
    {
        var leftUs = Math.Min(pauseUs, _round.TimeLimitUs - _clock.ElapsedUs());
        if (leftUs > 0)
        {
            await PreciseTime.Shared.WaitAsync(TimeSpan.FromMicroseconds(leftUs), ended).ConfigureAwait(false);
        }
    }
}
