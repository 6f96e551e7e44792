using System.Reflection;

namespace Patternbench.Kit;

/// <summary>Who a client is.</summary>
/// <param name="Name">of the client, as its folder</param>
/// <param name="Library">the library's own name</param>
/// <param name="LibraryVersion">the version of it that is loaded</param>
/// <param name="Strategies">those that it has</param>
/// <param name="Policies">those that its stacks may have</param>
/// <param name="WhyNot">by its name, why a policy that the library has all the same is not among them</param>
public sealed record Description(
    string Name,
    string Library,
    string LibraryVersion,
    IReadOnlyList<string> Strategies,
    IReadOnlyList<string> Policies,
    IReadOnlyDictionary<string, string>? WhyNot = null)
{
    /// <summary>The version of this client.</summary>
    public const string Version = "0.1.0";

    /// <summary>The version of the library that a type comes from.</summary>
    public static string VersionOf(Type type)
    {
        var told = type.Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion;
        return (told ?? "unknown").Split('+')[0];
    }

    internal object AsJson() => new
    {
        contract = Round.Version,
        name = Name,
        version = Version,
        language = $".NET {Environment.Version}",
        library = new { name = Library, version = LibraryVersion },
        strategies = Strategies,
    };
}
