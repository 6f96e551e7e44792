using Patternbench.Kit;
using Patternbench.PollyClient;

return await ClientMain.RunAsync(new PollyAdapter(), args);
