import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.util.Objects;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/** Says of each request whether Tomcat routes it to /login, and which token its query has. */
public final class Login {
  private Login() {}

  private static void serve(Context context, String name, String... patterns) {
    HttpServlet servlet =
        new HttpServlet() {
          @Override
          protected void service(HttpServletRequest request, HttpServletResponse response) {
            response.setHeader("X-Reached", name);
            response.setHeader("X-Read-Token", Objects.toString(request.getParameter("token"), ""));
            response.setHeader("X-Read-Key", Objects.toString(request.getHeader("X-Api-Key"), ""));
          }
        };
    Tomcat.addServlet(context, name, servlet);
    for (String pattern : patterns) {
      context.addServletMappingDecoded(pattern, name);
    }
  }

  public static void main(String[] words) throws Exception {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(words[1]);
    tomcat.setHostname("127.0.0.1");
    tomcat.setPort(Integer.parseInt(words[0]));
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    Context context = tomcat.addContext("", new File(words[1]).getAbsolutePath());
    serve(context, "login", "/login/*");
    serve(context, "other", "/");
    tomcat.start();
    tomcat.getServer().await();
  }
}
