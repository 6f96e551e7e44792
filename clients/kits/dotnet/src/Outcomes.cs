using System.Globalization;

namespace Patternbench.Kit;

/// <summary>What became of an attempt, as one number: the status of an answer, or one of the names below.</summary>
public static class Outcomes
{
    /// <summary>Nothing came in time.</summary>
    public const int Timeout = -1;

    /// <summary>No answer, or none that HTTP has.</summary>
    public const int ConnectionError = -2;

    /// <summary>A policy has let nothing through.</summary>
    public const int Rejected = -3;

    /// <summary>Whether a call is successful whose last attempt was answered with this.</summary>
    public static bool IsSuccess(int outcome) => outcome is >= 200 and <= 399;

    /// <summary>The outcome of a status. One that HTTP does not have counts as a connection error.</summary>
    internal static int OfStatus(int status) => status is >= 100 and <= 599 ? status : ConnectionError;

    /// <summary>Whether a failure that a retry names, as 503, 500-599 or a name, is meant.</summary>
    internal static bool IsIn(int outcome, string failure)
    {
        if (!char.IsAsciiDigit(failure[0]))
        {
            return Name(outcome) == failure;
        }

        var ends = failure.Split('-');
        return outcome >= Number(ends[0]) && outcome <= Number(ends[^1]);
    }

    internal static string Name(int outcome) => outcome switch
    {
        Timeout => "timeout",
        ConnectionError => "connection_error",
        Rejected => "rejected",
        _ => outcome.ToString(CultureInfo.InvariantCulture),
    };

    private static int Number(string digits) => int.Parse(digits, CultureInfo.InvariantCulture);
}
