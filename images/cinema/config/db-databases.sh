mariadb -uroot -p"$MARIADB_ROOT_PASSWORD" <<END
CREATE DATABASE cinema_cineworld;
CREATE USER 'cinema_cineworld'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON cinema_cineworld.* TO 'cinema_cineworld'@'%';
CREATE DATABASE cinema_dundrum;
CREATE USER 'cinema_dundrum'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON cinema_dundrum.* TO 'cinema_dundrum'@'%';
CREATE DATABASE cinema_ucd;
CREATE USER 'cinema_ucd'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON cinema_ucd.* TO 'cinema_ucd'@'%';
END
