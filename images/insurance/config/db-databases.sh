mariadb -uroot -p"$MARIADB_ROOT_PASSWORD" <<END
CREATE DATABASE customer_core;
CREATE USER 'customer_core'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON customer_core.* TO 'customer_core'@'%';
CREATE DATABASE customer_management;
CREATE USER 'customer_management'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON customer_management.* TO 'customer_management'@'%';
CREATE DATABASE customer_self_service;
CREATE USER 'customer_self_service'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON customer_self_service.* TO 'customer_self_service'@'%';
CREATE DATABASE policy_management;
CREATE USER 'policy_management'@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON policy_management.* TO 'policy_management'@'%';
END
