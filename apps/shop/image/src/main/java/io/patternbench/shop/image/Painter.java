package io.patternbench.shop.image;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.GradientPaint;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.geom.Arc2D;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.awt.geom.RoundRectangle2D;
import java.awt.image.BufferedImage;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import java.util.zip.CRC32;

/**
 * Draws a picture out of its name: the same name gives the same picture, and needs no file.
 *
 * <p>Everything is drawn on a canvas of 1 x 1, which is stretched to the size wanted.
 */
final class Painter {
  private final Graphics2D canvas;
  private final SplittableRandom chance;
  private final float hue;

  private Painter(Graphics2D canvas, String name) {
    this.canvas = canvas;
    CRC32 sum = new CRC32();
    sum.update(name.getBytes(StandardCharsets.UTF_8));
    chance = new SplittableRandom(sum.getValue());
    hue = (float) chance.nextDouble();
  }

  static BufferedImage paint(Picture picture) {
    Size size = picture.size();
    BufferedImage image =
        new BufferedImage(size.width(), size.height(), BufferedImage.TYPE_INT_RGB);
    Graphics2D canvas = image.createGraphics();
    canvas.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    canvas.transform(AffineTransform.getScaleInstance(size.width(), size.height()));
    new Painter(canvas, picture.of()).paint();
    canvas.dispose();
    return image;
  }

  private void paint() {
    background();
    switch (chance.nextInt(3)) {
      case 0 -> cup();
      case 1 -> tin();
      default -> leaves();
    }
  }

  private void background() {
    Color light = Color.getHSBColor(hue, 0.12f, 0.98f);
    Color dark = Color.getHSBColor(hue + 0.08f, 0.30f, 0.88f);
    canvas.setPaint(new GradientPaint(0, 0, light, 0, 1, dark));
    canvas.fill(new Rectangle2D.Double(0, 0, 1, 1));
    canvas.setPaint(new Color(0, 0, 0, 24));
    canvas.fill(new Ellipse2D.Double(0.18, 0.80, 0.64, 0.10));
  }

  private void cup() {
    canvas.setStroke(new BasicStroke(0.05f));
    canvas.setPaint(strong());
    canvas.draw(new Arc2D.Double(0.62, 0.45, 0.24, 0.24, -90, 180, Arc2D.OPEN));
    Path2D body = new Path2D.Double();
    body.moveTo(0.22, 0.40);
    body.lineTo(0.74, 0.40);
    body.curveTo(0.74, 0.72, 0.66, 0.85, 0.48, 0.85);
    body.curveTo(0.30, 0.85, 0.22, 0.72, 0.22, 0.40);
    canvas.fill(body);
    canvas.setPaint(Color.getHSBColor(0.07f, 0.75f, 0.35f + (float) chance.nextDouble(0.4)));
    canvas.fill(new Ellipse2D.Double(0.25, 0.36, 0.46, 0.09));
    steam();
  }

  private void steam() {
    canvas.setStroke(new BasicStroke(0.02f, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND));
    canvas.setPaint(new Color(255, 255, 255, 170));
    for (int i = 0; i < 3; i++) {
      double x = 0.36 + 0.12 * i;
      Path2D wisp = new Path2D.Double();
      wisp.moveTo(x, 0.32);
      wisp.curveTo(x + 0.06, 0.26, x - 0.06, 0.20, x + chance.nextDouble(0.05), 0.12);
      canvas.draw(wisp);
    }
  }

  private void tin() {
    canvas.setPaint(strong());
    canvas.fill(new RoundRectangle2D.Double(0.28, 0.30, 0.44, 0.56, 0.06, 0.06));
    canvas.setPaint(Color.getHSBColor(hue, 0.70f, 0.40f));
    canvas.fill(new RoundRectangle2D.Double(0.26, 0.20, 0.48, 0.14, 0.05, 0.05));
    canvas.setPaint(new Color(255, 255, 255, 220));
    canvas.fill(new RoundRectangle2D.Double(0.34, 0.46, 0.32, 0.26, 0.04, 0.04));
    leaf(0.50, 0.68, 0.20, chance.nextDouble(-0.4, 0.4));
  }

  private void leaves() {
    int count = 3 + chance.nextInt(3);
    for (int i = 0; i < count; i++) {
      leaf(0.5, 0.84, 0.50 + chance.nextDouble(0.14), -0.9 + 1.8 * i / (count - 1));
    }
  }

  private void leaf(double x, double y, double length, double angle) {
    Path2D leaf = new Path2D.Double();
    leaf.moveTo(0, 0);
    leaf.curveTo(0.30, -0.30, 0.25, -0.75, 0, -1);
    leaf.curveTo(-0.25, -0.75, -0.30, -0.30, 0, 0);
    AffineTransform place = AffineTransform.getTranslateInstance(x, y);
    place.rotate(angle);
    place.scale(length, length);
    canvas.setPaint(
        Color.getHSBColor(
            0.25f + (float) chance.nextDouble(0.12),
            0.60f,
            0.45f + (float) chance.nextDouble(0.3)));
    canvas.fill(place.createTransformedShape(leaf));
  }

  private Color strong() {
    return Color.getHSBColor(hue, 0.55f, 0.70f);
  }
}
